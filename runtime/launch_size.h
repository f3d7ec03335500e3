// The sizes a launch is free to choose, and the shapes that follow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/manifest.h"

namespace wkvc {

struct LaunchSize {
  std::int64_t batches = 0, tokens = 0, heads = 0;  // B, T, H
  bool is_empty() const { return batches == 0 || tokens == 0 || heads == 0; }
  bool operator==(const LaunchSize&) const = default;
};

// The shape a tensor of `manifest` has at `size`.
std::vector<std::int64_t> shape_of(const TensorSpec& spec, const Manifest& manifest, LaunchSize size);

// The size that follows from the shapes of tensors by name (those of the manifest's names count). Throws UserError when
// two disagree (naming both), a rank is wrong, or B, T or H follows from none.
LaunchSize size_from(const Manifest& manifest, const std::map<std::string, std::vector<std::int64_t>>& shapes);

}  // namespace wkvc
