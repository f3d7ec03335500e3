// Which dimensions a kernel's tensors may have: what TensorArg's three strides can describe. Internal to the runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/manifest/manifest.h"

namespace wkvc {

// Elements between neighbouring rows of a tensor: fewer than so many. Offsets inside a chunk have 32 bits in kernels.
inline constexpr std::int64_t row_distance_limit = std::int64_t{1} << 24;

bool is_layout(Role role, const std::vector<std::string>& dims);
std::string layouts_text(Role role);  // what is_layout takes, for messages

// Returns the number that a dimension is; none where a letter stands for the dimension.
std::optional<std::int64_t> constant_from(const std::string& dim);

// Returns the segments of a tensor [B,H,segments,…] that kernels keep for each other; none for other tensors.
std::optional<std::int64_t> segments_of(const TensorSpec& spec);

// Whether the last dimension is a contiguous row; per-head scalars [B,T,H] have one element a row.
inline bool has_rows(const TensorSpec& spec) {
  return spec.dims.back() != "H" && spec.dims.back() != "S" && spec.dims.back() != "B";
}

}  // namespace wkvc
