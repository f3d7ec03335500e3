// What the rec dialect accepts as extents, shared memory budgets and compute dtypes. No MLIR here: the language checks
// the same limits at the user's line.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "codegen/target/Target.h"

namespace wkvc::rec {

// Attributes of 64 bits come without a sign, which what they are compared with has.
constexpr std::int64_t signed_value(std::uint64_t attribute) { return static_cast<std::int64_t>(attribute); }

constexpr bool is_extent(std::int64_t extent) { return extent >= 16 && extent <= 256 && extent % 16 == 0; }
inline constexpr std::string_view extents_text = "a multiple of 16 from 16 to 256";

// Values of a head. A block takes an extent of them: `--parts` deals more to several blocks.
constexpr bool is_value_extent(std::int64_t extent) { return extent >= 16 && extent <= 512 && extent % 16 == 0; }
inline constexpr std::string_view value_extents_text = "a multiple of 16 from 16 to 512";
inline constexpr std::string_view heads_text = "a multiple of 16, K from 16 to 256, V from 16 to 512";

constexpr bool is_sram_budget(std::int64_t bytes) { return bytes >= 1 && bytes <= sm_90a.block.shared_bytes; }
inline constexpr std::string_view sram_budgets_text = "1 to 232448 (227 KiB, what a block of sm_90 can have)";
static_assert(sm_90a.block.shared_bytes == 232448, "the text above names the limit");

// Of a sequence that blocks go through side by side.
inline constexpr std::int64_t max_segments = 256;
constexpr bool is_segment_count(std::int64_t count) { return count >= 1 && count <= max_segments; }
inline constexpr std::string_view segment_counts_text = "1 to 256";

inline constexpr int max_save_every = 1 << 20;  // tokens between saved states, and so at most as many chunks

// Blocks that may share a head.
constexpr bool is_cluster(std::int64_t blocks) { return blocks >= 1 && sm_90a.block.cluster % blocks == 0; }
inline constexpr std::string_view clusters_text = "1, 2, 4 or 8";
static_assert(sm_90a.block.cluster == 8, "the text above names the limit");

// Parts that the value rows of a head are dealt to: at most as many as there are 16 rows.
inline constexpr std::int64_t max_parts = 32;
constexpr bool is_part_count(std::int64_t parts) { return parts >= 1 && parts <= max_parts; }
inline constexpr std::string_view part_counts_text = "1 to 32";
static_assert(max_parts == 32, "the text above names the limit");

// Returns whether so many values of a head can be dealt to so many parts.
constexpr bool are_parts(std::int64_t values, std::int64_t parts) {
  return is_part_count(parts) && values % parts == 0 && is_extent(values / parts);
}

// What a segment makes of the state before it: a matrix of keys by keys, or a factor for each key.
constexpr bool is_map(std::string_view kind) { return kind == "full" || kind == "diagonal"; }
inline constexpr std::string_view maps_text = "full or diagonal";

// Operand dtypes of contractions. A bf16x3 is the sum of two bf16, contracted in three products.
inline constexpr std::array<std::string_view, 4> compute_names = {"bf16", "bf16x3", "f16", "f32"};
constexpr bool is_compute(std::string_view name) {
  return std::ranges::find(compute_names, name) != compute_names.end();
}
// Returns whether contractions have operands of f32's range alone, so that no operand of 16 bits limits exponents.
constexpr bool has_wide_range(std::string_view compute) { return compute == "f32" || compute == "bf16x3"; }
inline constexpr std::string_view computes_text = "bf16, bf16x3, f16 or f32";

}  // namespace wkvc::rec
