#include "codegen/passes/place/PlacedText.h"

#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/schedule/PlaceAttr.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr llvm::StringLiteral kAt = "at", kPhases = "phases";

}  // namespace

std::string called(Operation* op) {
  auto sym = op->getAttrOfType<StringAttr>("sym");
  std::string name = sym ? sym.str() : op->getNumResults() ? name_of(op->getResult(0)).str() : "";
  return name.empty() ? "a " + op->getName().stripDialect().str() : "'" + name + "'";
}

bool is_placed(chunk::ProgramOp program) { return program->hasAttrOfType<PhasesAttr>(kPhases); }

void expect_no_places(chunk::ProgramOp program) {
  for (Operation& op : program.getBody().front())
    if (op.hasAttr(kAt))
      user_error_at(&op,
                    "{} has a place, but the program of '{}' has no phases = #wkvc.phases<...>; a text of the stage "
                    "placed has both, one of the stage chunk neither",
                    called(&op), program.getRecurrence().str());
}

// Returns the place that an operation's text has.
static ValuePlace place_of(Operation* op) {
  auto at = op->getAttrOfType<PlaceAttr>(kAt);
  if (!at)
    user_error_at(op, "{} has no place; expected at = #wkvc.place<...>, as all operations of this stage have",
                  called(op));
  return at.getValue();
}

Placement read_placement(chunk::ProgramOp program) {
  if (!is_placed(program))
    user_error_at(program, "the program of '{}' has no phases = #wkvc.phases<...>, as all programs of this stage have",
                  program.getRecurrence().str());
  const Phases phases = program->getAttrOfType<PhasesAttr>(kPhases).getValue();
  Placement placement(program, phases.warps);
  placement.division() = phases;
  for (Operation& op : placement.body()) placement.at(&op) = place_of(&op);
  return placement;
}

void write_placement(const Placement& placement) {
  chunk::ProgramOp program = placement.program();
  MLIRContext* context = program.getContext();
  for (Operation& op : placement.body()) op.setAttr(kAt, PlaceAttr::get(context, placement.of(&op)));
  program->setAttr(kPhases, PhasesAttr::get(context, placement.division()));
}

}  // namespace wkvc
