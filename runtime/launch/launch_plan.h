// What launches need of a manifest, worked out once: they compare no text and allocate nothing. Internal to the
// runtime.
#pragma once

#include <optional>
#include <vector>

#include "runtime/launch/launch_size.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

struct PlannedTensor {
  PlannedTensor(TensorSpec given, const Manifest& manifest);

  TensorSpec spec;
  std::vector<Dimension> dims;  // of spec.dims
  bool is_written;              // by a kernel: results, and what kernels keep for each other
  bool is_state;
  bool is_shared;  // has a head for each group of heads
  bool is_whole;   // has other heads than kernels count
  bool may_be_absent;
  bool keeps_for_kernels;  // is_internal(spec.role)
  bool has_rows;           // see layout.h
  bool moves_in_pieces;    // rows of tokens: states look at their own flag, and numbers are read one by one

  // Which dimensions TensorArg's strides are those of. A head as kernels count heads has
  // `counted_values` of the dimension `values`.
  std::optional<std::size_t> batch, row, head, values;
  std::int64_t counted_values;
};

struct LaunchPlan {
  static constexpr std::size_t max_tensors = 256;

  explicit LaunchPlan(const Manifest& manifest);  // throws UserError when there are more tensors

  bool has_shared() const;  // whether any tensor is

  std::vector<PlannedTensor> tensors;  // in the manifest's order
  HeadBlocks blocks;
  std::int64_t heads;    // that kernels count for each head
  std::int64_t cut = 1;  // segments of tensors [B,H,segments,…]; with more than 1 a map's sequences are cut into pieces
  std::int64_t unit;     // tokens that a piece has to be a multiple of
};

}  // namespace wkvc
