#include "codegen/passes/place/Placement.h"

#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/schedule/PlaceAttr.h"
#include "codegen/target/Target.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr llvm::StringLiteral kAt = "at", kPhases = "phases";

}  // namespace

bool is_source(Value value) {
  return isa<chunk::InputOp, chunk::ParameterOp, chunk::ConstantOp>(value.getDefiningOp());
}

bool is_partial_sum(Operation* op, const Placement& placement) {
  if (isa<chunk::SumColumnsOp>(op)) return placement.space(op->getOperand(0)).columns != Axis::token;
  return isa<chunk::SumRowsOp>(op) && placement.space(op->getOperand(0)).rows == Axis::value;
}

bool is_accumulator(Operation* op) {
  return isa<chunk::AddOp>(op) &&
         llvm::any_of(op->getOperands(), [](Value x) { return x.getDefiningOp<chunk::DotOp>() && x.hasOneUse(); });
}

bool is_contraction(Operation* op) { return isa<chunk::DotOp, chunk::ColumnDotsOp, chunk::DiagonalDotOp>(op); }

bool is_elementwise(Operation* op) {
  return isa<chunk::NegOp, chunk::ExpOp, chunk::Exp2Op, chunk::LogOp, chunk::SigmoidOp, chunk::TanhOp,
             chunk::SoftplusOp, chunk::ReluOp, chunk::SqrtOp, chunk::ReciprocalOp, chunk::AddOp, chunk::SubOp,
             chunk::MulOp, chunk::AtLeastOp, chunk::ExceedsOp, chunk::NotBelowOp, chunk::WidenOp, chunk::RoundOp,
             chunk::KeepValidOp>(op);
}

std::string called(Operation* op) {
  auto sym = op->getAttrOfType<StringAttr>("sym");
  std::string name = sym ? sym.str() : op->getNumResults() ? name_of(op->getResult(0)).str() : "";
  return name.empty() ? "a " + op->getName().stripDialect().str() : "'" + name + "'";
}

Placement::Placement(chunk::ProgramOp program, int warps) : program_(program), spaces_(infer_spaces(program)) {
  phases_.warps = warps;
  for (Operation& op : body()) places_.try_emplace(&op);
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

Placement Placement::read(chunk::ProgramOp program) {
  if (!is_placed(program))
    user_error_at(program, "the program of '{}' has no phases = #wkvc.phases<...>, as all programs of this stage have",
                  program.getRecurrence().str());
  const Phases phases = program->getAttrOfType<PhasesAttr>(kPhases).getValue();
  Placement placement(program, phases.warps);
  placement.phases_ = phases;
  for (auto& [op, place] : placement.places_) {
    auto at = op->getAttrOfType<PlaceAttr>(kAt);
    if (!at)
      user_error_at(op, "{} has no place; expected at = #wkvc.place<...>, as all operations of this stage have",
                    called(op));
    place = at.getValue();
  }
  return placement;
}

void Placement::write() const {
  MLIRContext* context = body().front().getContext();
  for (auto& [op, place] : places_) op->setAttr(kAt, PlaceAttr::get(context, place));
  chunk::ProgramOp(program_)->setAttr(kPhases, PhasesAttr::get(context, phases_));
}

std::vector<Operation*> Placement::ops_of(Owner owner, int phase) const {
  std::vector<Operation*> ops;
  for (Operation& op : body()) {
    if (op.getNumResults() && is_source(op.getResult(0))) continue;
    if (of(&op).owner == owner && of(&op).phase == phase) ops.push_back(&op);
  }
  return ops;
}

bool Placement::is_shared(Value value) const { return !is_source(value) && of(value).storage != Storage::registers; }

// Registers hold two states and their operands of narrow heads alone.
bool Placement::takes_both_at_once() const { return phases_.together && !sm_90a.is_wide(extent(Axis::key)); }

int64_t Placement::extent(Axis axis) const {
  chunk::ProgramOp program = program_;
  return static_cast<int64_t>(axis == Axis::key ? program.getKeyDim() : program.getValueDim());
}

int64_t Placement::slab_width(int phase, Axis axis) const {
  return in_strips(phase) || in_shares(phase) ? extent(axis) / phases_.warps : 16;
}

int64_t Placement::slab_count(Operation* op) const {
  return extent(slab_axis(op)) / slab_width(of(op).phase, slab_axis(op));
}

chunk::RoundOp Placement::stand_in(Value widened, int phase) const {
  if (phase < first_of_rows()) return {};
  for (Operation* user : widened.getUsers())
    if (of(user).storage == Storage::stand_in) return cast<chunk::RoundOp>(user);
  return {};
}

bool Placement::is_transposed(Value x, Operation* user) const {
  auto dot = dyn_cast<chunk::DotOp>(user);
  if (!dot || is_source(x) || !in_shares(of(user).phase) || space(x).rows != Axis::token) return false;
  const bool over_tokens = dot.getX() == x ? dot.getXDim() == 0 : dot.getYDim() == 0;
  return over_tokens && of(user).owner == Owner::slab && of(x).owner == Owner::slab && of(x).phase == of(user).phase;
}

bool Placement::holds_any() const {
  return llvm::any_of(places_, [](auto& place) { return place.second.storage == Storage::held; });
}

}  // namespace wkvc
