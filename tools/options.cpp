#include "tools/options.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "codegen/config.h"
#include "codegen/rec/Limits.h"
#include "runtime/checked.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr std::int64_t most_shared = 227 * 1024;  // of one block of sm_90

template <class Integer>
std::optional<Integer> whole_number(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t comma = 0; (comma = text.find(',')) != std::string_view::npos; text.remove_prefix(comma + 1)) {
    parts.push_back(text.substr(0, comma));
  }
  parts.push_back(text);
  return parts;
}

// `given`, which has to be one of `known`; empty when the option was not given.
std::string one_of(std::string_view option, const std::optional<std::string>& given,
                   std::span<const std::string_view> known) {
  if (!given) return "";
  if (std::ranges::find(known, *given) == known.end()) {
    user_error("{} {}: not known here; expected {}", option, *given, fmt::join(known, ", "));
  }
  return *given;
}

int extent_of_head(std::string_view given, std::string_view text) {
  const auto value = whole_number<int>(text);
  if (!value || !rec::is_extent(*value)) {
    user_error("--head {}: '{}' is not supported; expected {}", given, text, rec::extents_text);
  }
  return *value;
}

int multiple_of_16(std::string_view option, std::string_view text, int most) {
  const auto value = whole_number<int>(text);
  if (!value || *value <= 0 || *value % 16 != 0 || *value > most) {
    user_error("{} {}: expected auto or a multiple of 16 from 16 to {}", option, text, most);
  }
  return *value;
}

// A part of what an option was given: a number of at least 1, or auto, which is 0.
int number_or_auto(const char* option, const std::string& text, std::string_view part, int most) {
  if (part == "auto") return 0;
  const auto value = whole_number<int>(part);
  if (!value || *value < 1 || *value > most) {
    user_error("{} {}: expected auto or numbers from 1 to {}", option, text, most);
  }
  return *value;
}

// N, or N,M for the backward pass; `why` says when.
std::pair<int, std::optional<int>> one_or_two(const char* option, const std::string& text, int most, const char* why) {
  const auto parts = split(text);
  if (parts.size() > 2) user_error("{} {}: expected N, or N,M {}", option, text, why);
  const auto number = [&](std::string_view part) { return number_or_auto(option, text, part, most); };
  const int first = number(parts.front());
  if (parts.size() == 1) return {first, std::nullopt};
  return {first, number(parts.back())};
}

}  // namespace

void parse_head(const std::string& text, Config& config) {
  const auto parts = split(text);
  if (parts.size() > 2) user_error("--head {}: expected K or K,V", text);
  config.key_dim = extent_of_head(text, parts.front());
  config.value_dim = extent_of_head(text, parts.back());
}

int parse_chunk(const std::string& text) {
  constexpr int most = std::numeric_limits<int>::max() / 16 * 16;
  return text == "auto" ? 0 : text == "1" ? 1 : multiple_of_16("--chunk", text, most);
}

void parse_blocks(const std::string& text, Config& config) {
  const auto [forward, backward] = one_or_two("--blocks", text, max_blocks, "where the backward kernel's differ");
  config.blocks = forward;
  config.backward_blocks = backward.value_or(forward);
}

void parse_teams(const std::string& text, Config& config) {
  const auto [forward, backward] = one_or_two("--teams", text, rec::max_teams, "for the backward kernel's, too");
  config.teams = forward;
  config.backward_teams = backward.value_or(0);
}

int parse_cluster(const std::string& text) {
  if (text == "auto") return 0;
  const auto blocks = whole_number<int>(text);
  if (!blocks || !rec::is_cluster(*blocks)) user_error("--cluster {}: expected auto, {}", text, rec::clusters_text);
  return *blocks;
}

void parse_segments(const std::string& text, Config& config) {
  const auto [forward, backward] =
      one_or_two("--segments", text, rec::max_segments, "where the backward pass has others");
  config.segments = forward;
  config.backward_segments = backward.value_or(0);
}

int parse_save_every(const std::string& text) {
  return text == "auto" ? 0 : multiple_of_16("--save-every", text, rec::max_save_every);
}

std::vector<std::string> parse_gradients(const std::string& text) {
  std::vector<std::string> names;
  if (text == "all") return names;
  for (const std::string_view name : split(text)) {
    if (name.empty()) user_error("--grad {}: expected names such as r,w,k, or all", text);
    if (std::ranges::find(names, name) != names.end()) user_error("--grad {}: '{}' is named twice", text, name);
    names.emplace_back(name);
  }
  return names;
}

std::int64_t parse_sram(const std::string& text) {
  struct Unit {
    std::string_view name;
    std::int64_t bytes;
  };
  static constexpr std::array<Unit, 6> units{
      {{"", 1}, {"B", 1}, {"KB", 1000}, {"KiB", 1024}, {"MB", 1000 * 1000}, {"MiB", 1024 * 1024}}};
  const std::size_t digits = std::min(text.find_first_not_of("-0123456789"), text.size());
  std::string_view name = std::string_view(text).substr(digits);
  if (name.starts_with(' ')) name.remove_prefix(1);
  const auto* const unit = std::ranges::find(units, name, &Unit::name);
  const auto number = whole_number<std::int64_t>(std::string_view(text).substr(0, digits));
  if (!number || unit == units.end()) {
    user_error("--sram {}: expected a whole number of bytes, KB, KiB, MB or MiB, such as 227KiB", text);
  }
  const CheckedInt bytes = checked_mul(*number, unit->bytes);
  if (!bytes || *bytes < 1 || *bytes > most_shared) {
    user_error("--sram {}: a block can have from 1 to {} bytes (227KiB) of shared memory", text, most_shared);
  }
  return *bytes;
}

LaunchSize parse_shape(const std::string& text) {
  std::array<std::int64_t, 3> sizes{};
  const auto parts = split(text);
  if (parts.size() != sizes.size()) user_error("--shape {}: expected batch, tokens and heads, such as 1,100,2", text);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = whole_number<std::int64_t>(parts[i]);
    if (!size || *size < 1) user_error("--shape {}: '{}' is not a size from 1 to 2^63 - 1", text, parts[i]);
    sizes[i] = *size;
  }
  if (!checked_mul(checked_mul(sizes[0], sizes[1]), sizes[2])) {
    user_error("--shape {}: batch x tokens x heads exceeds 63 bits", text);
  }
  return {sizes[0], sizes[1], sizes[2]};
}

std::uint64_t parse_seed(const std::string& text) {
  const auto seed = whole_number<std::uint64_t>(text);
  if (!seed) user_error("--seed {}: expected a whole number from 0 to 2^64 - 1", text);
  return *seed;
}

void ConfigOptions::add_to(CLI::App& command) {
  CLI::App* group = command.add_option_group("Configuration", "As the recurrence declares, unless given");
  group->add_option("--head", head, "Keys and values per head, multiples of 16 up to 256")->type_name("K[,V]");
  group->add_option("--io", io, "Storage of inputs and outputs: bf16, f16, f32")->type_name("DTYPE");
  group->add_option("--mma", mma, "Operands of contractions: f16, bf16, f32")->type_name("DTYPE");
  group->add_option("--state", state, "Storage of the state: f32")->type_name("DTYPE");
  group->add_option("--chunk", chunk, "Tokens a step, a multiple of 16, or 1, or auto")->type_name("N|auto");
  group->add_option("--sram", sram, "Shared memory a block may use, such as 227KiB")->type_name("BYTES");
  group->add_option("--arch", arch, "Real architecture: sm_90a")->type_name("ARCH");
  group->add_option("--blocks", blocks, "Blocks an SM is to hold at once, and of the backward kernel, or auto")
      ->type_name("N[,M]|auto");
  group->add_option("--teams", teams, "Teams of warps, a chunk for each, and those of the backward kernel, or auto")
      ->type_name("N[,M]|auto");
  group->add_option("--rounds", rounds, "Rounds of teams' chunks at once, forward: 2 takes warps for each, or auto")
      ->type_name("N|auto");
  group->add_option("--cluster", cluster, "Blocks for each head, which share its teams' work, forward, or auto")
      ->type_name("N|auto");
  group->add_option("--segments", segments, "Segments of a sequence that run side by side, and backward, or auto")
      ->type_name("N[,M]|auto");
  group->add_option("--pass", pass, "forward, backward (gradients), or both")->type_name("PASS");
  group->add_option("--save-every", save_every, "Tokens between saved states, a multiple of the chunk, or auto")
      ->type_name("TOKENS|auto");
  group->add_option("--saved", saved, "Storage of saved states: f32, bf16, f16")->type_name("DTYPE");
  group->add_option("--scales", scales, "Of f16 operands: always, or guarded: where they need them, in a second kernel")
      ->type_name("WHEN");
  group->add_option("--grad", gradients, "Gradients to compute, by input, or all")->type_name("NAMES|all");
}

Config ConfigOptions::parse() const {
  static constexpr std::array<std::string_view, 3> io_dtypes{"bf16", "f16", "f32"};
  static constexpr std::array<std::string_view, 3> mma_dtypes{"f16", "bf16", "f32"};
  static constexpr std::array<std::string_view, 1> state_dtypes{"f32"};
  static constexpr std::array<std::string_view, 1> arches{"sm_90a"};
  static constexpr std::array<std::string_view, 3> passes{"forward", "backward", "both"};
  static constexpr std::array<std::string_view, 3> saved_dtypes{"f32", "bf16", "f16"};
  Config config;
  if (head) parse_head(*head, config);
  config.io = one_of("--io", io, io_dtypes);
  config.mma = one_of("--mma", mma, mma_dtypes);
  config.state = one_of("--state", state, state_dtypes);
  if (chunk) config.chunk = parse_chunk(*chunk);
  if (sram) config.sram = parse_sram(*sram);
  if (arch) config.arch = one_of("--arch", arch, arches);
  if (blocks) parse_blocks(*blocks, config);
  if (teams) parse_teams(*teams, config);
  if (rounds) config.rounds = number_or_auto("--rounds", *rounds, *rounds, rec::max_rounds);
  if (cluster) config.cluster = parse_cluster(*cluster);
  if (segments) parse_segments(*segments, config);
  if (pass) config.pass = one_of("--pass", pass, passes);
  if (save_every) config.save_every = parse_save_every(*save_every);
  config.saved = one_of("--saved", saved, saved_dtypes);
  config.scales = one_of("--scales", scales, scales_choices);
  if (gradients) config.gradients = parse_gradients(*gradients);
  check_backward(config);
  return config;
}

// Also those that ask for the default.
void ConfigOptions::check_backward(const Config& config) const {
  check_backward_option(config, config.backward_segments ? "--segments N,M"
                                : save_every             ? "--save-every"
                                : saved                  ? "--saved"
                                : gradients              ? "--grad"
                                                         : nullptr);
  if (config.chunk > 0 && config.save_every % config.chunk != 0) {
    user_error("--save-every {}: not a multiple of --chunk {}", config.save_every, config.chunk);
  }
}

void SubjectOptions::add_to(CLI::App& command, bool with_source) {
  CLI::Option* name = command.add_option("op", op, "Operator, see wkvc list")->type_name("OP");
  if (with_source) {
    command.add_option("--source", source, "Text of a stage (rec, chunk, warp or cuda), as wkvc emit prints it")
        ->type_name("FILE");
  } else {
    name->required();
  }
}

}  // namespace wkvc
