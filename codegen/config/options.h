// Options that several subcommands share, and their values' syntax. Everything here throws UserError.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/config/fields.h"
#include "runtime/launch/launch_size.h"

namespace CLI {
class App;
}

namespace wkvc {

// Sets the fields of an option as the text says: "64,128", "auto", "227KiB". The pass has to be set before; M is N
// where the text has none and the pass has a backward kernel.
void set_option(const ConfigOption& option, const std::string& text, Config& config);

ConfigOption heads_option();  // --head, as commands spell it that take several

// What the options of a configuration were given, by their spelling.
class ConfigOptions {
 public:
  std::optional<std::string>& operator[](std::string_view spelling);
  const std::optional<std::string>& operator[](std::string_view spelling) const;

  void add_to(CLI::App& command);

  // `default_pass` holds without --pass.
  Config parse(const std::string& default_pass = "forward") const;

  // The options with this --pass, and for the forward pass without what they say of the backward pass.
  ConfigOptions of_pass(const std::string& pass) const;

 private:
  std::map<std::string, std::optional<std::string>, std::less<>> given_;
};

// OP|--source FILE. With both, the text has to be of that operator.
struct SubjectOptions {
  std::optional<std::string> op, source;

  void add_to(CLI::App& command, bool with_source);
};

// Returns how many sequences lie one behind the other in a batch, as --sequences says: at least one. Throws UserError.
std::int64_t parse_sequence_count(const std::string& text);

// "B,T,H", each at least `least`. Messages call it `option`.
LaunchSize parse_shape(const std::string& text, std::int64_t least = 1, std::string_view option = "--shape");

std::uint64_t parse_seed(const std::string& text);

}  // namespace wkvc
