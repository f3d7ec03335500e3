#include "codegen/passes/place/Placing.h"

#include "codegen/passes/place/rules/AssignPhases.h"
#include "codegen/passes/place/rules/Delays.h"
#include "codegen/passes/place/rules/MatrixWarps.h"
#include "codegen/passes/place/rules/Owners.h"
#include "codegen/passes/place/rules/Shares.h"
#include "codegen/passes/place/rules/Storage.h"
#include "codegen/passes/place/rules/Strips.h"
#include "codegen/passes/place/rules/ValueSlabs.h"

namespace wkvc {

Placement place_values(chunk::ProgramOp program, int warps, bool by_teams) {
  Placement placement(program, warps);
  assign_owners(placement);
  if (by_teams) {
    const Waits waits = find_waits(placement);
    make_value_slabs(placement, waits);
    assign_phases_of_teams(placement, waits);
  } else {
    assign_phases(placement);
  }
  delay_slabs(placement);
  if (delay_sums(placement)) delay_slabs(placement);
  if (by_teams && program.getPlain()) delay_matrices(placement);
  if (by_teams) delay_columns(placement);
  assign_warps(placement);
  if (fits_shares(placement)) {
    placement.division().finished = Finished::shares;
    hold_operands(placement);
  }
  if (fits_strips(placement)) placement.division().prepared = Prepared::strips;
  return placement;
}

Placement stored(Placement placement, Stored keep) {
  store_values(placement, keep);
  return placement;
}

}  // namespace wkvc
