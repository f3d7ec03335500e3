#include "codegen/emit/KernelTraits.h"

#include "codegen/target/Target.h"

namespace wkvc {

KernelTraits traits_of(warp::KernelOp kernel) {
  const bool is_cut = kernel.getSegments() > 1, goes_ahead = warp::has_producers(kernel);
  return {.is_cut = is_cut,
          .has_teams = warp::has_slots(kernel),
          .goes_ahead = goes_ahead,
          .goes_again = warp::goes_again(kernel),
          .is_cluster = kernel.getCluster() > 1,
          .keeps_places = !sm_90a.is_wide(kernel.getKeyDim()),
          .begin = is_cut ? "begin" : "0",
          .end = is_cut ? "end" : "chunks",
          .before_round = is_cut ? "first - begin" : "first",
          .last_segment = kernel.getBackward() ? "0" : "block.segments - 1",
          .copier = goes_ahead                ? "teams"
                    : warp::has_slots(kernel) ? "team"
                                              : "block",
          .value_row = kernel.getSummary() ? "value_row0" : "row0"};
}

}  // namespace wkvc
