// The sizes a launch is free to choose, and the shapes that follow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/extents.h"
#include "runtime/manifest.h"

namespace wkvc {

struct LaunchSize {
  std::int64_t batches = 0, tokens = 0, heads = 0;  // B, T, H
  bool is_empty() const { return batches == 0 || tokens == 0 || heads == 0; }
  bool operator==(const LaunchSize&) const = default;
};

// Throws UserError unless a launch can have this size, with so many blocks for each sequence.
void check_size(LaunchSize size, int blocks_per_sequence);

// One dimension of a tensor, in numbers: a launch compares no text.
struct Dimension {
  enum class Of : std::uint8_t { constant, batches, tokens, heads };

  Of of = Of::constant;
  std::int64_t each =
      1;  // the length, of a constant; else it is one for every so many batches, tokens or heads, or part

  std::int64_t length(LaunchSize size) const {
    if (of == Of::constant) return each;
    const std::int64_t count = of == Of::batches ? size.batches : of == Of::tokens ? size.tokens : size.heads;
    return each == 1 || count == 0 ? count : (count - 1) / each + 1;
  }
};

// What `dim` of TensorSpec::dims stands for in `manifest`.
Dimension dimension_from(const std::string& dim, const Manifest& manifest);

// The shape a tensor of `manifest` has at `size`.
Extents shape_of(const TensorSpec& spec, const Manifest& manifest, LaunchSize size);

// The size that follows from the shapes of tensors by name (those of the manifest's names count). Throws UserError when
// two disagree (naming both), a rank is wrong, or B, T or H follows from none.
LaunchSize size_from(const Manifest& manifest, const std::map<std::string, std::vector<std::int64_t>>& shapes);

}  // namespace wkvc
