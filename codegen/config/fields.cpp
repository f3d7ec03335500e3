#include "codegen/config/fields.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "codegen/rec/Limits.h"
#include "codegen/target/Target.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr std::array<std::string_view, 3> dtypes{"f16", "bf16", "f32"};
constexpr std::array<std::string_view, 4> operands{"f16", "bf16", "bf16x3", "f32"};
constexpr std::array<std::string_view, 1> arches{sm_90a.arch};
constexpr std::array<std::string_view, 2> state_layouts{"vk", "kv"};
constexpr std::array<std::string_view, 3> passes{"forward", "backward", "both"};
constexpr std::array<std::string_view, 2> scales{"always", "guarded"};
constexpr std::array<std::string_view, 2> forms{"strips", "warpgroups"};

constexpr Numbers extents{rec::is_value_extent, rec::heads_text};
constexpr Numbers steps{[](std::int64_t value) { return value == 1 || rec::is_extent(value); },
                        "a multiple of 16 from 16 to 256, or 1"};
constexpr Numbers distances{
    [](std::int64_t value) { return value >= 16 && value % 16 == 0 && value <= rec::max_save_every; },
    "a multiple of 16 from 16 to 1048576"};
constexpr Numbers token_counts{[](std::int64_t value) { return value >= 1 && value <= rec::max_save_every; },
                               "1 to 1048576"};
constexpr Numbers segment_counts{rec::is_segment_count, rec::segment_counts_text};
constexpr Numbers team_counts{[](std::int64_t value) { return value >= 1 && value <= sm_90a.most_teams(); }, "1 to 15"};
constexpr Numbers round_counts{[](std::int64_t value) { return value >= 1 && value <= 2; }, "1 or 2"};
constexpr Numbers cluster_sizes{rec::is_cluster, rec::clusters_text};
constexpr Numbers part_counts{rec::is_part_count, rec::part_counts_text};
constexpr Numbers block_counts{[](std::int64_t value) { return value >= 1 && value <= sm_90a.sm.blocks; }, "1 to 32"};
static_assert(sm_90a.most_teams() == 15 && sm_90a.sm.blocks == 32, "the texts above name the limits");
constexpr Numbers sram_budgets{rec::is_sram_budget, rec::sram_budgets_text};

constexpr const char* as_declared = "as the recurrence declares";

constexpr auto table = std::to_array<ConfigOption>({
    {.spelling = "--head",
     .syntax = "K[,V]",
     .field = {"key_dim", &Config::key_dim},
     .second = ConfigField{"value_dim", &Config::value_dim},
     .values = extents,
     .otherwise = as_declared,
     .meaning = "keys and values of a head; V is K where V is left out",
     .settled = Stage::rec},
    {.spelling = "--io",
     .syntax = "DTYPE",
     .field = {"io", &Config::io},
     .values = Words{dtypes},
     .otherwise = as_declared,
     .meaning = "storage of inputs and outputs",
     .settled = Stage::rec},
    {.spelling = "--set",
     .syntax = "NAME=VALUE[,…]",
     .field = {"set", &Config::set},
     .values = Assignments{},
     .otherwise = as_declared,
     .meaning = "options of the recurrence; `wkvc list OP` shows them",
     .settled = Stage::rec,
     .recorded = Recorded::shown},
    {.spelling = "--mma",
     .syntax = "DTYPE",
     .field = {"mma", &Config::mma},
     .values = Words{operands},
     .otherwise = as_declared,
     .meaning =
         "operands of contractions; accumulators are f32. `--chunk 1` has `f32` alone: commands refuse all else, "
         "and programs may name what their other kernels take",
     .settled = Stage::chunk,
     .recorded = Recorded::shown},
    {.spelling = "--state",
     .syntax = "DTYPE",
     .field = {"state", &Config::state},
     .values = Words{dtypes},
     .otherwise = "`f32`",
     .meaning = "storage of initial and final states; kernels compute with f32",
     .settled = Stage::placed},
    {.spelling = "--state-layout",
     .syntax = "ORDER",
     .field = {"state_layout", &Config::state_layout},
     .values = Words{state_layouts},
     .otherwise = "`vk`",
     .meaning = "dimensions of initial and final states and their gradients: B,H,V,K or B,H,K,V",
     .settled = Stage::placed},
    {.spelling = "--states-every",
     .syntax = "N",
     .field = {"states_every", &Config::states_every},
     .values = token_counts,
     .otherwise = "none",
     .meaning = "tokens between intermediate states, a result of a forward pass alone: the states behind every N "
                "tokens, B,M,H,V,K with M = ⌊T/N⌋; N is a multiple of the chunk",
     .settled = Stage::placed,
     .of = OfKernels::forward},
    {.spelling = "--pass",
     .syntax = "PASS",
     .field = {"pass", &Config::pass},
     .values = Words{passes},
     .otherwise = "`forward`",
     .meaning = "the forward pass, the backward pass (gradients), or both"},
    {.spelling = "--chunk",
     .syntax = "N",
     .field = {"chunk", &Config::chunk},
     .values = steps,
     .automatic = true,
     .otherwise = "16",
     .meaning = "tokens a step; 1: a forward kernel of single tokens, exact in f32, for decoding, without "
                "`--segments`, `--teams`, `--rounds`, `--cluster`, `--parts`, `--scales` and `--sram`",
     .settled = Stage::chunk,
     .recorded = Recorded::tuned},
    {.spelling = "--save-every",
     .syntax = "N",
     .field = {"save_every", &Config::save_every},
     .values = distances,
     .automatic = true,
     .otherwise = "64; with M teams from 2 on M chunks",
     .meaning = "tokens between the states that the forward pass saves for the backward pass, a multiple of the chunk; "
                "with M teams from 2 on M chunks, or 2M with guarded scales",
     .settled = Stage::placed,
     .of = OfKernels::backward,
     .recorded = Recorded::tuned,
     .apart = true},
    {.spelling = "--saved",
     .syntax = "DTYPE",
     .field = {"saved", &Config::saved},
     .values = Words{dtypes},
     .otherwise = "`f32`",
     .meaning = "storage of saved states; with `f16` and M teams from 2 on, the inverses that the forward pass keeps "
                "for the backward pass are in two terms of f16, which take the memory of one",
     .settled = Stage::placed,
     .of = OfKernels::backward,
     .recorded = Recorded::tuned,
     .apart = true},
    {.spelling = "--grad",
     .syntax = "NAMES",
     .field = {"gradients", &Config::gradients},
     .values = InputNames{},
     .otherwise = "`all`",
     .meaning = "inputs to differentiate by; `initial_state` alone leaves all other gradients out",
     .settled = Stage::placed,
     .of = OfKernels::backward},
    {.spelling = "--shared",
     .syntax = "NAMES",
     .field = {"shared", &Config::shared},
     .values = InputNames{.all = false},
     .otherwise = "none",
     .meaning = "inputs of which a head may serve several neighbouring heads: a launch says how many such heads there "
                "are, S, a divisor of H",
     .settled = Stage::chunk},
    {.spelling = "--segments",
     .syntax = "N[,M]",
     .field = {"segments", &Config::segments},
     .second = ConfigField{"backward_segments", &Config::backward_segments},
     .values = segment_counts,
     .automatic = true,
     .otherwise = "1",
     .meaning = "parts of a sequence that run side by side, for few heads, which leave the GPU idle",
     .settled = Stage::placed,
     .of = OfKernels::each,
     .follows = true,
     .of_chunks = true,
     .recorded = Recorded::tuned},
    {.spelling = "--teams",
     .syntax = "N[,M]",
     .field = {"teams", &Config::teams},
     .second = ConfigField{"backward_teams", &Config::backward_teams},
     .values = team_counts,
     .automatic = true,
     .otherwise = "1",
     .meaning = "teams of warps, each of which prepares a chunk. N divides the warps of the forward kernel and M those "
                "of the backward kernel, one for 16 values in either. With `--rounds 2` N may be any number, but M may "
                "not: `--teams 3,2 --rounds 2 --pass both`",
     .settled = Stage::placed,
     .of = OfKernels::each,
     .of_chunks = true,
     .recorded = Recorded::tuned},
    {.spelling = "--rounds",
     .syntax = "N",
     .field = {"rounds", &Config::rounds},
     .values = round_counts,
     .automatic = true,
     .otherwise = "1",
     .meaning =
         "rounds of chunks at once in the forward kernel. With 2 the teams have warps of their own, which prepare "
         "chunks ahead of the warps that take the state through them: for few heads",
     .settled = Stage::placed,
     .of = OfKernels::forward,
     .of_chunks = true,
     .recorded = Recorded::tuned},
    {.spelling = "--cluster",
     .syntax = "N",
     .field = {"cluster", &Config::cluster},
     .values = cluster_sizes,
     .automatic = true,
     .otherwise = "1",
     .meaning = "blocks that run a head together in the forward kernel, for few heads: each has a part of the state "
                "and some of the teams. It takes `--rounds 2`. With guarded scales one block runs "
                "again what a cluster refused",
     .settled = Stage::placed,
     .of = OfKernels::forward,
     .of_chunks = true,
     .recorded = Recorded::tuned},
    {.spelling = "--parts",
     .syntax = "N",
     .field = {"parts", &Config::parts},
     .values = part_counts,
     .automatic = true,
     .otherwise = "1, or as few as leave a block room where the schedule is left open",
     .meaning = "parts that the value rows of a head are dealt to, in either pass, with as many blocks: for heads that "
                "do not fit a block. Gradients of all that parts share are summed in f32 behind them",
     .settled = Stage::chunk,
     .of_chunks = true,
     .recorded = Recorded::tuned,
     .makes_room = true},
    {.spelling = "--scales",
     .syntax = "N[,M]",
     .field = {"scales", &Config::scales},
     .second = ConfigField{"backward_scales", &Config::backward_scales},
     .values = Words{scales},
     .automatic = true,
     .otherwise =
         "`always`. Where settings are chosen for a shape (`bench`, `pack`, and kernels that are compiled just in time "
         "for a GPU): as tuned, else `guarded`, and `always` for forward passes of fewer than 32 tokens",
     .meaning =
         "`always`: every f16 operand has a scale. `guarded`: a kernel without scales comes first, a sixth faster, and "
         "blocks whose numbers do not fit f16 run again with scales",
     .settled = Stage::placed,
     .of = OfKernels::each,
     .follows = true,
     .of_chunks = true,
     .recorded = Recorded::tuned,
     .apart = true},
    {.spelling = "--form",
     .syntax = "FORM",
     .field = {"form", &Config::form},
     .values = Words{forms},
     .automatic = true,
     .otherwise = "`strips`, or as tuned",
     .meaning = "`strips`: each warp has 16 rows of the state. `warpgroups`: a guarded forward kernel in chunks of 64, "
                "whose state lies in sums of wgmma, for heads of 128 with one decay a token; blocks that this kernel "
                "refuses run again in strips",
     .settled = Stage::chunk,
     .of = OfKernels::forward,
     .of_chunks = true,
     .recorded = Recorded::tuned,
     .apart = true},
    {.spelling = "--blocks",
     .syntax = "N[,M]",
     .field = {"blocks", &Config::blocks},
     .second = ConfigField{"backward_blocks", &Config::backward_blocks},
     .values = block_counts,
     .automatic = true,
     .otherwise = "a guess",
     .meaning = "blocks that a multiprocessor is to hold at once, which bounds registers",
     .settled = Stage::placed,
     .of = OfKernels::each,
     .recorded = Recorded::tuned},
    {.spelling = "--sram",
     .syntax = "BYTES",
     .field = {"sram", &Config::sram},
     .values = sram_budgets,
     .otherwise = as_declared,
     .meaning = "shared memory that a block may use, in bytes or with a unit, `227KiB`",
     .settled = Stage::placed,
     .of_chunks = true},
    {.spelling = "--arch",
     .syntax = "ARCH",
     .field = {"arch", &Config::arch},
     .values = Words{arches},
     .otherwise = "`sm_90a`",
     .meaning = "the architecture that kernels are compiled for"},
});

std::string text_of(int value) { return value == 0 ? "" : fmt::format("{}", value); }
std::string text_of(std::int64_t value) { return value == 0 ? "" : fmt::format("{}", value); }
std::string text_of(const std::string& value) { return value; }
std::string text_of(const std::vector<std::string>& value) { return fmt::format("{}", fmt::join(value, ",")); }

std::string without_auto(const Numbers& numbers, std::string_view) { return std::string(numbers.expected); }
std::string without_auto(const Words& words, std::string_view quote) {
  std::string text;
  for (const std::string_view word : words.known)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : " or ", quote, word, quote);
  return text;
}
std::string without_auto(const InputNames& names, std::string_view quote) {
  const std::string some = fmt::format("names such as {0}r,w,k{0}", quote);
  return names.all ? fmt::format("{0}, or {1}all{1}", some, quote) : some;
}
std::string without_auto(const Assignments&, std::string_view quote) {
  return fmt::format("NAME=VALUE, such as {0}scale=0.5{0}", quote);
}

}  // namespace

std::span<const ConfigOption> config_options() { return table; }

const ConfigOption& config_option(std::string_view spelling) {
  const auto* const found = std::ranges::find(table, spelling, &ConfigOption::spelling);
  if (found == table.end()) internal_error("'{}' is no option of a configuration", spelling);
  return *found;
}

bool is_of_backward(const ConfigOption& option, const ConfigField& field) {
  return option.of == OfKernels::backward || (option.of == OfKernels::each && &field == &*option.second);
}

std::string text_of(const ConfigField& field, const Config& config) {
  return std::visit([&](auto member) { return text_of(config.*member); }, field.member);
}

bool is_set(const ConfigField& field, const Config& config) {
  static const Config unset;
  return std::visit([&](auto member) { return config.*member != unset.*member; }, field.member);
}

bool is_set(const ConfigOption& option, const Config& config) {
  return is_set(option.field, config) || (option.second && is_set(*option.second, config));
}

void copy_field(const ConfigField& field, const Config& from, Config& to) {
  std::visit([&](auto member) { to.*member = from.*member; }, field.member);
}

std::string values_text(const ConfigOption& option, std::string_view quote) {
  const std::string text = std::visit([&](const auto& values) { return without_auto(values, quote); }, option.values);
  return option.automatic ? fmt::format("{}, or {}auto{}", text, quote, quote) : text;
}

std::string config_key(const Config& config) {
  std::string key;
  for_each_field([&](const ConfigOption&, const ConfigField& field) {
    if (is_set(field, config))
      key += fmt::format("{}{} {}", key.empty() ? "" : ", ", field.name, text_of(field, config));
  });
  return key;
}

}  // namespace wkvc
