#include "codegen/lower/Placement.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/EquivalenceClasses.h>

#include "codegen/ir/Text.h"
#include "codegen/lower/Strips.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

bool is_source(Value value) {
  return isa<chunk::InputOp, chunk::ParameterOp, chunk::ConstantOp>(value.getDefiningOp());
}

bool is_partial_sum(Operation* op, const Placement& placement) {
  if (isa<chunk::SumColumnsOp>(op)) return true;
  return isa<chunk::SumRowsOp>(op) && placement.space(op->getOperand(0)).rows == Axis::value;
}

bool has_bound(chunk::RoundOp round) { return round.getBound() && !round.getBound()->empty(); }
bool has_own_scale(chunk::RoundOp round) { return round.getBound() && round.getBound()->empty(); }

namespace {

// The state among the bounds of a scale.
Value bounding_state(chunk::RoundOp round) {
  if (!round.getBound()) return {};
  auto names = round.getBound()->getAsValueRange<StringAttr>();
  for (Operation& op : *round->getBlock())
    if (isa<chunk::StateOp, chunk::SavedStateOp>(op) &&
        llvm::is_contained(names, op.getAttrOfType<StringAttr>("sym").getValue()))
      return op.getResult(0);
  return {};
}

// Of the state's shape, by products with rows or columns.
bool is_made_of(Value x, Value state) {
  if (x == state) return true;
  auto product = x.getDefiningOp<chunk::MulOp>();
  return product && x.getType() == state.getType() &&
         (is_made_of(product.getX(), state) || is_made_of(product.getY(), state));
}

// Contractions over keys need one warp's rows alone, contractions over values those of all warps.
bool stays_in_its_warp(chunk::RoundOp round) {
  return llvm::all_of(round->getUses(), [](OpOperand& use) {
    auto dot = dyn_cast<chunk::DotOp>(use.getOwner());
    return dot && (use.getOperandNumber() == 0 ? dot.getXDim() : dot.getYDim()) == 1;
  });
}

// Operations that read whole operands from shared memory.
bool is_contraction(Operation* op) { return isa<chunk::DotOp, chunk::ColumnDotsOp, chunk::DiagonalDotOp>(op); }

// Sums that contractions accumulate into, in place.
bool is_accumulator(Operation* op) {
  return isa<chunk::AddOp>(op) &&
         llvm::any_of(op->getOperands(), [](Value x) { return x.getDefiningOp<chunk::DotOp>() && x.hasOneUse(); });
}

}  // namespace

Value state_of_scale(chunk::RoundOp round) {
  // A backward pass takes the same scales whichever gradients are asked for, so that they have the same bytes.
  auto program = round->getParentOfType<chunk::ProgramOp>();
  if (program.getBackward() && !program.getSummary()) return {};
  Value state = bounding_state(round);
  bool own = state && round.getBound()->size() == 1 && is_made_of(round.getX(), state) && stays_in_its_warp(round);
  return own ? state : Value();
}

bool takes_scale_of_state(chunk::RoundOp round) { return bounding_state(round) && !state_of_scale(round); }

bool can_carry_scale(chunk::ProgramOp program) {
  llvm::DenseSet<Value> sums;
  bool rounds = false, updates = false;
  for (Operation& op : program.getBody().front()) {
    if (isa<chunk::StateOp>(op)) sums.insert(op.getResult(0));
    if (llvm::none_of(op.getOperands(), [&](Value x) { return sums.contains(x); })) continue;
    Value last = op.getOperands().back(),
          other = op.getNumOperands() == 2 && sums.contains(last) ? op.getOperand(0) : last;
    bool by_row = isa<chunk::MulOp>(op) && chunk::rows(other) == 1 && !sums.contains(other);
    bool of_product = isa<chunk::AddOp>(op) && last.getDefiningOp<chunk::DotOp>() && last.hasOneUse();
    auto round = dyn_cast<chunk::RoundOp>(op);
    if (by_row || of_product) sums.insert(op.getResult(0));
    rounds |= static_cast<bool>(round);
    updates |= isa<chunk::UpdateOp>(op);
    if (!by_row && !of_product && !(round && state_of_scale(round)) && !isa<chunk::UpdateOp>(op)) return false;
  }
  return rounds && updates;
}

// Other slab values are computed again.
bool Placement::is_stored(Operation* op) const {
  if (isa<chunk::SigmoidOp, chunk::TanhOp, chunk::SoftplusOp>(op)) return stored_ != Stored::sums;
  if (isa<chunk::ExpOp, chunk::Exp2Op>(op)) return stored_ == Stored::exponentials;
  return is_contraction(op) || is_accumulator(op) || isa<chunk::CumsumOp, chunk::SumRowsOp>(op);
}

Placement::Placement(chunk::ProgramOp program, int warps, Stored stored, bool strips)
    : stored_(stored), spaces_(infer_spaces(program)) {
  Block& body = program.getBody().front();
  assign_phases(body);
  delay_slabs(body);
  assign_matrices(body, warps);
  find_shared(body);
  slab_width_ = strips ? wkvc::slab_width(program, *this, warps) : 16;
}

// One number a token: of such inputs alone everyone computes it, else one warp.
Owner Placement::owner_of_column(Operation* op) const {
  if (isa<chunk::DiagonalOp>(op)) return Owner::matrix;
  if (isa<chunk::SumColumnsOp>(op)) return of(op->getOperand(0)).owner;
  bool everyone = llvm::all_of(op->getOperands(), [&](Value x) {
    return is_source(x) || (of(x).owner == Owner::anyone && !x.getDefiningOp<chunk::SumColumnsOp>());
  });
  return everyone ? Owner::anyone : Owner::matrix;
}

Owner Placement::owner_of(Operation* op) const {
  bool stores = isa<chunk::OutputOp, chunk::AccumulateOp>(op);
  if (isa<chunk::UpdateOp>(op)) return Owner::rows;
  if (isa<chunk::ConstantOp>(op)) return Owner::anyone;
  Space space = spaces_.lookup(stores ? op->getOperand(0) : op->getResult(0));
  if (space == Space{Axis::token, Axis::token}) return Owner::matrix;
  if (auto sum = dyn_cast<chunk::SumRowsOp>(op); sum && !is_source(sum.getX())) return of(sum.getX()).owner;
  if (space.columns == Axis::key && space.rows != Axis::value) return Owner::slab;
  if (space.columns == Axis::value || space.rows == Axis::value) return Owner::rows;
  return stores ? Owner::matrix : owner_of_column(op);
}

bool Placement::crosses(Value operand, Operation* user) const {
  if (is_source(operand) || of(operand).owner == Owner::anyone) return false;
  Owner from = of(operand).owner, to = ops_.lookup(user).owner;
  if (from != to || is_partial_sum(operand.getDefiningOp(), *this)) return true;
  return from == Owner::matrix && is_contraction(user);
}

void Placement::assign_phases(Block& body) {
  for (Operation& op : body) {
    Place place;
    place.owner = owner_of(&op);
    ops_[&op].owner = place.owner;
    for (Value operand : op.getOperands())
      if (!is_source(operand)) place.phase = std::max(place.phase, of(operand).phase + crosses(operand, &op));
    if (auto round = dyn_cast<chunk::RoundOp>(op); round && takes_scale_of_state(round))
      place.phase = std::max(place.phase, 1);  // the state's maximum crosses
    place.last_phase = place.phase;
    place.transposed = op.getNumResults() && spaces_.lookup(op.getResult(0)).columns == Axis::value;
    ops_[&op] = place;
    for (Value result : op.getResults()) places_[result] = place;
    phases_ = std::max(phases_, place.phase + 1);
  }
}

// Slab registers end with their phase, so what only later slabs read is computed there.
void Placement::delay_slabs(Block& body) {
  for (Operation& op : llvm::reverse(body)) {
    if (op.getNumResults() == 0 || of(&op).owner != Owner::slab || op.use_empty()) continue;
    int phase = phases_;
    for (Operation* user : op.getUsers()) {
      bool local = of(user).owner == Owner::slab && !crosses(op.getResult(0), user);
      phase = std::min(phase, local ? of(user).phase : of(&op).phase);
    }
    ops_[&op].phase = ops_[&op].last_phase = phase;
    places_[op.getResult(0)].phase = places_[op.getResult(0)].last_phase = phase;
  }
}

void Placement::assign_matrices(Block& body, int warps) {
  llvm::EquivalenceClasses<Operation*> groups;
  std::vector<Operation*> matrices;
  for (Operation& op : body) {
    if (of(&op).owner != Owner::matrix) continue;
    matrices.push_back(&op);
    groups.insert(&op);
    for (Value operand : op.getOperands())
      if (of(operand).owner == Owner::matrix && !crosses(operand, &op)) groups.unionSets(&op, operand.getDefiningOp());
  }
  llvm::DenseMap<Operation*, int> numbers;
  for (Operation* op : matrices) {
    auto [it, fresh] = numbers.try_emplace(groups.getLeaderValue(op), static_cast<int>(numbers.size()) % warps);
    ops_[op].warp = it->second;
    if (op->getNumResults()) places_[op->getResult(0)].warp = it->second;
  }
}

// A value read in `phase`.
void Placement::use(Value operand, int phase) {
  Place& place = places_[operand];
  place.last_phase = std::max(place.last_phase, phase);
  if (is_source(operand)) return;
  Operation* op = operand.getDefiningOp();
  if (place.shared || place.phase == phase) return;
  if (place.owner == Owner::anyone || (place.owner == Owner::slab && !is_stored(op))) {
    for (Value x : op->getOperands()) use(x, phase);
    return;
  }
  // Registers of slab loops and of one warp's matrices end with their phase; those of value rows stay.
  place.shared = place.owner != Owner::rows;
}

// What crosses first: it need not be computed again.
void Placement::find_shared(Block& body) {
  for (Operation& op : body)
    for (Value operand : op.getOperands()) {
      bool slab = !is_source(operand) && of(operand).owner == Owner::slab;
      places_[operand].shared |= crosses(operand, &op) || (slab && is_contraction(&op));
    }
  for (Operation& op : body)
    for (Value operand : op.getOperands()) use(operand, of(&op).phase);
}

}  // namespace wkvc
