// Schedules for recurrences and sizes that no lockfile has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "autotune/lockfile/shape_class.h"
#include "codegen/compiler.h"

namespace wkvc {

// How a state goes through a token. The map of a segment is alike. Of narrow heads is_matrix alone is known, of wide
// ones decays_by_numbers with gradients and of matrices, and has_bounded_factors for forward passes of factors.
struct Transition {
  bool is_matrix = false;            // a matrix over keys; else a factor for each key
  bool has_bounded_factors = false;  // 16-bit operands of kernels without scales hold the factors in chunks of 32
  bool decays_by_numbers = false;    // or nothing decays: teams need few registers
};

// Returns `config` with schedules filled in, the likely fastest first; a recurrence may refuse any of them. Heads of
// more than 128 keys may have schedules in parts first. Other schedules in parts are behind the one that leaves all to
// the compiler, for what fits no block. The rule was chosen on the times of bench/measured/h100-schedules.jsonl, f16
// contractions of 16-bit inputs; docs/experiments.md has what the rule gains and loses (Defaults, Heads in parts). Of
// wide heads, `sequences` that lie one behind the other in a batch count as batches of their mean length.
std::vector<Config> preferred_settings(const Config& config, const ShapeClass& shape_class,
                                       const Transition& transition, int sm_count, std::int64_t sequences = 1);

// The same for sequences that lie one behind the other in a batch; none where a single sequence of as many tokens has
// the likely fastest schedule. Many sequences fill the GPU, and segments bound the time of a long one among them.
std::optional<Config> preferred_when_packed(const Config& config, const ShapeClass& shape_class, std::int64_t sequences,
                                            int sm_count);

}  // namespace wkvc
