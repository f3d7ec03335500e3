#include "codegen/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "codegen/rec/Limits.h"
#include "runtime/error.h"

namespace wkvc {

namespace {

void expect_one_of(const char* option, const std::string& given, const std::vector<std::string_view>& known) {
  if (std::ranges::find(known, given) != known.end()) return;
  user_error("{} '{}': expected {}", option, given, fmt::join(known, " or "));
}

void expect_range(const char* option, int given, int lowest, int highest) {
  if (given >= lowest && given <= highest) return;
  user_error("{} {}: expected {} to {}, or 0 for the compiler's choice", option, given, std::max(lowest, 1), highest);
}

// Backward kernels have their own teams and blocks, but neither rounds nor clusters.
void check_forward_option(const Config& config, const char* option) {
  if (config.pass == "backward" && option)
    user_error("{} is an option of the forward kernel, which --pass backward has none of: give --pass both", option);
}

void check_rounds(const Config& config) {
  if (config.rounds > 1 && config.teams < 2)
    user_error("--rounds {}: rounds are of a chunk for each of several teams: give --teams, too, such as --teams 2",
               config.rounds);
  if (config.cluster != 0 && !rec::is_cluster(config.cluster))
    user_error("--cluster {}: expected {}, or 0 for the compiler's choice", config.cluster, rec::clusters_text);
  if (config.cluster > 1 && config.rounds < 2)
    user_error("--cluster {}: blocks share what teams prepare a round ahead: give --rounds 2 and --teams, too",
               config.cluster);
}

// A kernel of single tokens has a schedule of its own.
void check_single_tokens(const Config& config) {
  if (config.chunk != 1) return;
  if (config.pass != "forward")
    user_error("--chunk 1: kernels of single tokens have no backward pass yet; leave --chunk out for --pass {}",
               config.pass);
  const char* option = config.teams > 1         ? "--teams"
                       : config.rounds > 1      ? "--rounds"
                       : config.cluster > 1     ? "--cluster"
                       : config.segments > 1    ? "--segments"
                       : !config.scales.empty() ? "--scales"
                                                : nullptr;
  if (option)
    user_error("--chunk 1 with {}: {} belongs to kernels of chunks; leave one of the two options out", option, option);
}

}  // namespace

void check_backward_option(const Config& config, const char* option) {
  if (config.pass == "forward" && option)
    user_error("{} is an option of the backward pass: give --pass backward or --pass both, too", option);
}

void check_config(const Config& config) {
  expect_one_of("--pass", config.pass, {"forward", "backward", "both"});
  expect_one_of("--arch", config.arch, {"sm_90a"});
  if (!config.scales.empty()) expect_one_of("--scales", config.scales, {scales_choices.begin(), scales_choices.end()});
  if (!config.saved.empty()) expect_one_of("--saved", config.saved, {"f32", "bf16", "f16"});
  expect_range("--blocks", config.blocks, 0, max_blocks);
  expect_range("--blocks", config.backward_blocks, 0, max_blocks);
  expect_range("--teams", config.teams, 0, rec::max_teams);
  expect_range("--teams", config.backward_teams, 0, rec::max_teams);
  if (config.teams > 1 && config.pass == "backward" && !config.backward_teams)
    user_error(
        "--teams {}: --pass backward has no forward kernel: give --pass both, or --teams 1,{} for the backward one",
        config.teams, config.teams);
  expect_range("--rounds", config.rounds, 0, rec::max_rounds);
  check_forward_option(config, config.rounds > 1 ? "--rounds" : config.cluster > 1 ? "--cluster" : nullptr);
  check_rounds(config);
  check_single_tokens(config);
  expect_range("--segments", config.segments, 0, rec::max_segments);
  expect_range("--segments", config.backward_segments, 0, rec::max_segments);
  check_backward_option(config, config.backward_segments    ? "--segments N,M"
                                : config.save_every         ? "--save-every"
                                : !config.saved.empty()     ? "--saved"
                                : !config.gradients.empty() ? "--grad"
                                                            : nullptr);
}

std::vector<std::string> settled_options(const Config& config, Stage stage) {
  std::vector<std::string> names;
  auto add = [&](Stage settled, bool given, const char* name) {
    if (given && stage >= settled) names.emplace_back(name);
  };
  add(Stage::rec, config.key_dim || config.value_dim, "--head");
  add(Stage::rec, !config.io.empty(), "--io");
  add(Stage::chunk, !config.mma.empty(), "--mma");
  add(Stage::rec, !config.state.empty(), "--state");
  add(Stage::chunk, config.chunk, "--chunk");
  add(Stage::warp, config.sram, "--sram");
  add(Stage::warp, config.blocks || config.backward_blocks, "--blocks");
  add(Stage::warp, config.teams || config.backward_teams, "--teams");
  add(Stage::warp, config.rounds, "--rounds");
  add(Stage::warp, config.cluster, "--cluster");
  add(Stage::warp, config.segments || config.backward_segments, "--segments");
  add(Stage::warp, config.save_every, "--save-every");
  add(Stage::warp, !config.saved.empty(), "--saved");
  add(Stage::warp, !config.scales.empty(), "--scales");
  add(Stage::warp, !config.gradients.empty(), "--grad");
  return names;
}

}  // namespace wkvc
