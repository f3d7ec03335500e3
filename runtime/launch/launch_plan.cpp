#include "runtime/launch/launch_plan.h"

#include <algorithm>
#include <utility>

#include "runtime/error.h"
#include "runtime/manifest/layout.h"

namespace wkvc {
namespace {

bool is_of_batches(Dimension::Of of) {
  return of == Dimension::Of::batches || of == Dimension::Of::sequences || of == Dimension::Of::states;
}

bool is_of_heads(Dimension::Of of) { return of == Dimension::Of::heads || of == Dimension::Of::shared_heads; }

bool has_tokens(const TensorSpec& spec) { return std::ranges::find(spec.dims, "T") != spec.dims.end(); }

}  // namespace

PlannedTensor::PlannedTensor(TensorSpec given, const Manifest& manifest)
    : spec(std::move(given)),
      is_written(is_result(spec.role) || is_internal(spec.role)),
      is_state(holds_state(spec.role)),
      is_shared(std::ranges::find(spec.dims, "S") != spec.dims.end()),
      is_whole(manifest.heads_of(spec.role).each != manifest.counted_heads().each),
      may_be_absent(is_optional(spec.role)),
      keeps_for_kernels(is_internal(spec.role)),
      has_rows(wkvc::has_rows(spec)),
      moves_in_pieces(has_rows && has_tokens(spec)),
      counted_values(manifest.counted_heads().values) {
  for (std::size_t i = 0; i < spec.dims.size(); ++i) {
    dims.push_back(dimension_at(spec, i, manifest));
    if (spec.dims[i] == "V") values = i;
  }
  const std::size_t outer = dims.size() - (has_rows ? 1 : 0);
  for (std::size_t i = 0; i < outer; ++i) {
    if (is_of_batches(dims[i].of)) {
      batch = i;
    } else if (is_of_heads(dims[i].of)) {
      head = i;
    } else {
      row = i;  // T, or the innermost rows: of a state, of several behind each other
    }
  }
}

bool LaunchPlan::has_shared() const { return std::ranges::any_of(tensors, &PlannedTensor::is_shared); }

LaunchPlan::LaunchPlan(const Manifest& manifest)
    : blocks(manifest.head_blocks()),
      heads(manifest.counted_heads().each),
      unit(std::int64_t{manifest.chunk} * std::max(manifest.saved_every, 1)) {
  if (manifest.tensors.size() > max_tensors) {
    user_error("the kernels of the text have {} tensors, at most {} can be launched with", manifest.tensors.size(),
               max_tensors);
  }
  tensors.reserve(manifest.tensors.size());
  for (const TensorSpec& spec : manifest.tensors) {
    tensors.emplace_back(spec, manifest);
    cut = std::max(cut, segments_of(spec).value_or(1));
  }
}

}  // namespace wkvc
