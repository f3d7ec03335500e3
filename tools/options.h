// Options that several subcommands share, and their values' syntax. Everything here throws UserError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/compiler.h"
#include "runtime/launch_size.h"

namespace CLI {
class App;
}

namespace wkvc {

// [config]: --head --io --mma --state --chunk --sram --arch --blocks --teams --rounds --cluster --segments --pass,
// --scales, and of the backward pass --save-every --saved --grad.
struct ConfigOptions {
  std::optional<std::string> head, io, mma, state, chunk, sram, arch, blocks, teams, rounds, cluster, segments, pass,
      save_every, saved, scales, gradients;

  void add_to(CLI::App& command);
  Config parse() const;

 private:
  void check_backward(const Config& config) const;
};

// OP|--source FILE. With both, the text has to be of that operator.
struct SubjectOptions {
  std::optional<std::string> op, source;

  void add_to(CLI::App& command, bool with_source);
};

// "B,T,H", each at least 1.
LaunchSize parse_shape(const std::string& text);

// "64" or "64,128", multiples of 16 up to 256.
void parse_head(const std::string& text, Config& config);

// "auto" (0) or a multiple of 16.
int parse_chunk(const std::string& text);

// "auto" (0), "2", or "2,1" where the backward kernel's differ: from 1 to 32.
void parse_blocks(const std::string& text, Config& config);

// "auto" (0), "2", or "2,2" for the backward kernel's, too: from 1 to 15.
void parse_teams(const std::string& text, Config& config);

// "auto" (0), or "1", "2", "4" or "8".
int parse_cluster(const std::string& text);

// "auto" (0), "4", or "1,4" where the backward pass has others: from 1 to 256.
void parse_segments(const std::string& text, Config& config);

// "auto" (0) or a multiple of 16: tokens.
int parse_save_every(const std::string& text);

// "r,w,u", or "all" (empty).
std::vector<std::string> parse_gradients(const std::string& text);

// "232448", "227KiB", "227 KiB", "0.2MiB" is refused: whole numbers with B, KB, KiB, MB or MiB.
std::int64_t parse_sram(const std::string& text);

std::uint64_t parse_seed(const std::string& text);

}  // namespace wkvc
