// What is wrong where warps race.
#include "codegen/warp/verify/Races.h"
#include "codegen/warp/verify/Rules.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

constexpr int64_t kMaxPlaces = 2000;  // declarations, stages of rings each

LogicalResult report(InFlightDiagnostic error, const Race& race, const char* other) {
  error.attachNote(race.other.op->getLoc()) << other;
  return error;
}

const char* verb(const Access& access) { return access.writes ? "writes " : "reads "; }

LogicalResult report_copy(const Race& race) {
  auto error = race.access.op->emitOpError() << verb(race.access) << description_of(race.access.buffer)
                                             << " while a copy to " << description_of(race.other.buffer)
                                             << " is under way; expected a warp.commit_copies, a warp.wait_copies and "
                                                "a barrier in between";
  return report(std::move(error), race, "the copy");
}

LogicalResult report_overwritten(const Race& race) {
  auto error = race.access.op->emitOpError()
               << "reads " << description_of(race.access.buffer) << ", which something else has been written over";
  return report(std::move(error), race, "written here");
}

LogicalResult report_unordered(const Race& race) {
  auto error = race.access.op->emitOpError() << verb(race.access) << description_of(race.access.buffer)
                                             << ", and other warps " << (race.other.writes ? "write " : "read ")
                                             << description_of(race.other.buffer) << " with no barrier in between";
  return report(std::move(error), race, "the other access");
}

}  // namespace

LogicalResult verify_places(KernelOp kernel) {
  int64_t places = 0;
  const WalkResult result = kernel.walk([&](Operation* op) {
    if (is_declaration(op)) places += stages_of(op);
    if (places <= kMaxPlaces) return WalkResult::advance();
    op->emitOpError() << "is one too many: a kernel has at most " << kMaxPlaces << " buffers and stages of rings";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult verify_races(KernelOp kernel) {
  const auto race = first_race(kernel);
  if (!race) return success();
  switch (race->kind) {
    case Race::under_copy:
      return report_copy(*race);
    case Race::overwritten:
      return report_overwritten(*race);
    case Race::unordered:
      return report_unordered(*race);
  }
  return failure();
}

}  // namespace wkvc::warp
