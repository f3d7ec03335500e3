#include "codegen/passes/place/Placement.h"

#include <llvm/ADT/EquivalenceClasses.h>
#include <llvm/ADT/MapVector.h>

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk/Factors.h"
#include "codegen/passes/place/Strips.h"
#include "codegen/target/Target.h"
#include "codegen/warp/Warp.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

bool is_source(Value value) {
  return isa<chunk::InputOp, chunk::ParameterOp, chunk::ConstantOp>(value.getDefiningOp());
}

bool is_partial_sum(Operation* op, const Placement& placement) {
  if (isa<chunk::SumColumnsOp>(op)) return placement.space(op->getOperand(0)).columns != Axis::token;
  return isa<chunk::SumRowsOp>(op) && placement.space(op->getOperand(0)).rows == Axis::value;
}

bool has_bound(chunk::RoundOp round) { return round.getBound() && !round.getBound()->empty(); }
bool has_own_scale(chunk::RoundOp round) { return round.getBound() && round.getBound()->empty(); }

bool is_bounded_by(chunk::RoundOp round, Operation* state) {
  return round.getBound() && llvm::is_contained(round.getBound()->getAsValueRange<StringAttr>(), chunk::symbol(state));
}

Value bounding_state(chunk::RoundOp round) {
  for (Operation& op : *round->getBlock())
    if (isa<chunk::StateOp, chunk::SavedStateOp>(op) && is_bounded_by(round, &op)) return op.getResult(0);
  return {};
}

namespace {

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

Value rounded_state(chunk::RoundOp round) {
  Value state = bounding_state(round);
  return state && round.getBound()->size() == 1 && is_made_of(round.getX(), state) ? state : Value();
}

Value state_of_scale(chunk::RoundOp round) {
  // A backward pass takes the same scales whichever gradients are asked for, so that they have the same bytes.
  auto program = round->getParentOfType<chunk::ProgramOp>();
  if (program.getBackward() && !program.getSummary()) return {};
  return stays_in_its_warp(round) ? rounded_state(round) : Value();
}

bool takes_scale_of_state(chunk::RoundOp round) { return bounding_state(round) && !state_of_scale(round); }

bool can_carry_scale(Operation* state) {
  llvm::DenseSet<Value> sums{state->getResult(0)};
  bool rounds = false, updates = false;
  for (Operation& op : *state->getBlock()) {
    if (llvm::none_of(op.getOperands(), [&](Value x) { return sums.contains(x); })) continue;
    Value last = op.getOperands().back(),
          other = op.getNumOperands() == 2 && sums.contains(last) ? op.getOperand(0) : last;
    bool by_row = isa<chunk::MulOp>(op) && chunk::rows(other) == 1 && !sums.contains(other);
    bool of_product = isa<chunk::AddOp>(op) && last.getDefiningOp<chunk::DotOp>() && last.hasOneUse();
    bool update = isa<chunk::UpdateOp, chunk::UpdateSavedOp>(op);
    auto round = dyn_cast<chunk::RoundOp>(op);
    if (by_row || of_product) sums.insert(op.getResult(0));
    rounds |= static_cast<bool>(round);
    updates |= update;
    if (!by_row && !of_product && !(round && rounded_state(round)) && !update) return false;
  }
  return rounds && updates;
}

static bool is_elementwise(Operation* op) {
  return isa<chunk::NegOp, chunk::ExpOp, chunk::Exp2Op, chunk::LogOp, chunk::SigmoidOp, chunk::TanhOp,
             chunk::SoftplusOp, chunk::ReluOp, chunk::SqrtOp, chunk::ReciprocalOp, chunk::AddOp, chunk::SubOp,
             chunk::MulOp, chunk::AtLeastOp, chunk::ExceedsOp, chunk::NotBelowOp, chunk::WidenOp, chunk::RoundOp,
             chunk::KeepValidOp>(op);
}

// Other slab values are computed again.
bool Placement::is_stored(Operation* op) const {
  if (is_kept_factor(op)) return stored_ >= Stored::factors;
  if (isa<chunk::CumsumOp>(op)) return stored_ >= Stored::sums;
  if (isa<chunk::SigmoidOp, chunk::TanhOp, chunk::SoftplusOp>(op)) return stored_ >= Stored::activations;
  if (isa<chunk::ExpOp, chunk::Exp2Op>(op)) return stored_ == Stored::exponentials;
  return is_contraction(op) || is_accumulator(op) || isa<chunk::SumRowsOp>(op);
}

Placement::Placement(chunk::ProgramOp program, int warps, Stored stored, bool teams)
    : program_(program), warps_(warps), stored_(stored), spaces_(infer_spaces(program)) {
  Block& body = program.getBody().front();
  assign_owners(body);
  if (teams)
    assign_phases_of_teams(body);
  else
    assign_phases(body);
  delay_slabs(body);
  if (delay_sums(body)) delay_slabs(body);
  if (teams && program.getPlain()) delay_matrices(body);
  assign_matrices(body, warps);
  shares_ = teams && fits_shares(body);
  if (shares_) find_held(body);
  find_shared(body);
  strips_ = teams && fits_strips(program, *this, warps);
}

int64_t Placement::slab_width(int phase, Axis axis) const {
  return in_strips(phase) || in_shares(phase) ? extent(axis) / warps_ : 16;
}

int64_t Placement::slab_count(Operation* op) const {
  return extent(slab_axis(op)) / slab_width(of(op).phase, slab_axis(op));
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

// C×C values of one number a token alone, as decays between tokens: each warp that makes a matrix with them makes them
// again, so that several warps may make matrices.
bool Placement::is_made_beside_matrices(Operation* op) const {
  if (!is_elementwise(op) && !isa<chunk::TrilOp, chunk::CumsumOp>(op)) return false;
  const bool of_tokens = llvm::all_of(op->getOperands(), [&](Value x) {
    return isa<chunk::ConstantOp>(x.getDefiningOp()) ||
           (of(x).owner == Owner::anyone && (!is_source(x) || chunk::columns(x) == 1));
  });
  return of_tokens && llvm::none_of(op->getUsers(), [](Operation* user) {
           return is_contraction(user) || isa<chunk::OutputOp, chunk::UnitLowerInverseOp>(user);
         });
}

Owner Placement::owner_of(Operation* op) const {
  bool stores = isa<chunk::OutputOp, chunk::AccumulateOp>(op);
  if (isa<chunk::UpdateOp, chunk::UpdateSavedOp>(op)) return Owner::rows;
  if (isa<chunk::ConstantOp>(op)) return Owner::anyone;
  Space space = spaces_.lookup(stores ? op->getOperand(0) : op->getResult(0));
  if (space == Space{Axis::token, Axis::token}) return is_made_beside_matrices(op) ? Owner::anyone : Owner::matrix;
  if (auto sum = dyn_cast<chunk::SumRowsOp>(op); sum && !is_source(sum.getX())) return of(sum.getX()).owner;
  if (space.columns == Axis::key && space.rows != Axis::value) return Owner::slab;
  if (space.columns == Axis::value || space.rows == Axis::value) return Owner::rows;
  return stores ? Owner::matrix : owner_of_column(op);
}

bool Placement::crosses(Value operand, Operation* user) const {
  if (is_source(operand) || of(operand).owner == Owner::anyone) return false;
  if (slab_axis(operand.getDefiningOp()) != slab_axis(user)) return true;
  Owner from = of(operand).owner, to = ops_.lookup(user).owner;
  if (from != to || is_partial_sum(operand.getDefiningOp(), *this)) return true;
  return from == Owner::matrix && is_contraction(user);
}

void Placement::assign_owners(Block& body) {
  for (Operation& op : body) {
    ops_[&op].owner = owner_of(&op);
    for (Value result : op.getResults()) places_[result].owner = ops_[&op].owner;
  }
}

// In this phase, or in a later one if an operand has to cross to it.
void Placement::place(Operation* op, int phase) {
  Place place{.owner = ops_.lookup(op).owner};
  for (Value operand : op->getOperands())
    if (!is_source(operand)) phase = std::max(phase, of(operand).phase + crosses(operand, op));
  place.phase = place.last_phase = phase;
  ops_[op] = place;
  for (Value result : op->getResults()) places_[result] = place;
  phases_ = std::max(phases_, phase + 1);
}

// To another phase.
void Placement::move(Operation* op, int phase) {
  for (Place* place : {&ops_[op], &places_[op->getResult(0)]}) place->phase = place->last_phase = phase;
}

void Placement::assign_phases(Block& body) {
  for (Operation& op : body) {
    auto round = dyn_cast<chunk::RoundOp>(op);
    place(&op, round && takes_scale_of_state(round) ? 1 : 0);  // the state's maximum crosses
  }
}

//===- Teams -----------------------------------------------------------------------------------------------------===//

void Placement::find_waits(Block& body) {
  const Wait for_state = body.getOps<chunk::SavedStateOp>().empty() ? for_first_state : for_second_state;
  for (Operation& op : body) {
    Wait wait = isa<chunk::StateOp, chunk::UpdateOp>(op)             ? for_state
                : isa<chunk::SavedStateOp, chunk::UpdateSavedOp>(op) ? for_first_state
                                                                     : for_inputs;
    for (Value x : op.getOperands()) wait = std::max(wait, waits_.lookup(x.getDefiningOp()));
    // What is stored of slabs in a backward pass comes last: what it is made of need not be made before.
    bool last = program_.getBackward() && isa<chunk::OutputOp, chunk::AccumulateOp>(op) && of(&op).owner == Owner::slab;
    waits_[&op] = last ? std::max(wait, for_first_state) : wait;
  }
}

// C×V values that need nothing but inputs and that others than value rows read, and their sums over values.
void Placement::find_value_slabs(Block& body) {
  llvm::DenseSet<Operation*> elementwise;
  auto is_ready = [&](Value x) {
    return is_source(x) || of(x).owner == Owner::anyone || elementwise.contains(x.getDefiningOp());
  };
  for (Operation& op : body) {
    if (waits_.lookup(&op) != for_inputs || op.getNumResults() != 1 || is_source(op.getResult(0))) continue;
    if (spaces_.lookup(op.getResult(0)) == Space{Axis::one, Axis::value} && is_elementwise(&op) &&
        llvm::all_of(op.getOperands(), is_ready))  // a row of a parameter: wherever it is needed
      ops_[&op].owner = places_[op.getResult(0)].owner = Owner::anyone;
    Value x = isa<chunk::SumColumnsOp>(op) ? op.getOperand(0) : op.getResult(0);
    bool along = spaces_.lookup(x) == Space{Axis::token, Axis::value};
    if (along && (is_elementwise(&op) || isa<chunk::SumColumnsOp>(op)) && llvm::all_of(op.getOperands(), is_ready))
      elementwise.insert(&op);
  }
  for (Operation& op : llvm::reverse(body)) {
    // A program that only recomputes leaves inputs early, for others to be copied.
    bool needed = isa<chunk::SumColumnsOp>(op) || program_.getRecompute() ||
                  llvm::any_of(op.getUsers(), [&](Operation* user) { return of(user).owner != Owner::rows; });
    if (!needed || !elementwise.contains(&op)) continue;
    in_value_slabs_.insert(&op);
    ops_[&op].owner = places_[op.getResult(0)].owner = Owner::slab;
  }
}

void Placement::assign_phases_of_teams(Block& body) {
  find_waits(body);
  find_value_slabs(body);
  auto each = [&](bool rows, Wait wait, int phase) {
    for (Operation& op : body)
      if ((of(&op).owner == Owner::rows) == rows && waits_.lookup(&op) == wait) place(&op, phase);
  };
  each(/*rows=*/false, for_inputs, 0);
  first_of_rows_ = phases_;
  each(/*rows=*/true, for_inputs, first_of_rows_);
  each(/*rows=*/true, for_first_state, first_of_rows_);
  each(/*rows=*/true, for_second_state, first_of_rows_ + 1);
  first_after_rows_ = phases_;
  both_together_ = program_.getPlain() && first_after_rows_ - first_of_rows_ == 2 && are_independent(body);
  for (Operation& op : body)
    if (of(&op).owner != Owner::rows && waits_.lookup(&op) != for_inputs) place(&op, first_after_rows_);
  // What rows make of inputs alone, where they need it.
  for (Operation& op : llvm::reverse(body)) {
    if (of(&op).owner != Owner::rows || waits_.lookup(&op) != for_inputs || op.getNumResults() != 1) continue;
    int phase = first_after_rows_ - 1;
    for (Operation* user : op.getUsers()) phase = std::min(phase, of(user).phase);
    move(&op, phase);
  }
}

// Matrices of inputs that are only read with those made of the states are made beside them: their place in shared
// memory is needed for less long.
void Placement::delay_matrices(Block& body) {
  for (Operation& op : llvm::reverse(body)) {
    if (of(&op).owner != Owner::matrix || of(&op).phase >= first_of_rows_ || op.getNumResults() != 1) continue;
    const bool late = !op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation* user) {
      return of(user).phase - crosses(op.getResult(0), user) >= first_after_rows_;
    });
    if (late) move(&op, first_after_rows_);
  }
}

// Registers hold two states and their operands of narrow heads alone.
bool Placement::takes_both_at_once() const { return both_together_ && !sm_90a.is_wide(extent(Axis::key)); }

// Whether nothing that value rows make of the second state is made of the first, too.
bool Placement::are_independent(Block& body) const {
  return llvm::none_of(body, [&](Operation& op) {
    return of(&op).owner == Owner::rows && waits_.lookup(&op) == for_second_state &&
           llvm::any_of(op.getOperands(), [&](Value x) { return waits_.lookup(x.getDefiningOp()) == for_first_state; });
  });
}

// Slab registers end with their phase, so what only later slabs read is computed there.
void Placement::delay_slabs(Block& body) {
  for (Operation& op : llvm::reverse(body)) {
    if (op.getNumResults() == 0 || of(&op).owner != Owner::slab || op.use_empty()) continue;
    if (is_kept_factor(&op)) continue;
    int phase = phases_;
    for (Operation* user : op.getUsers()) {
      bool local = of(user).owner == Owner::slab && !crosses(op.getResult(0), user);
      phase = std::min(phase, local ? of(user).phase : of(&op).phase);
    }
    move(&op, phase);
  }
}

// The last phase in which slabs need a contraction that this value is made of in its phase.
int Placement::last_use_of_contractions(Value x) const {
  Operation* op = x.getDefiningOp();
  int last = of(x).phase;
  if (is_source(x) || of(x).owner != Owner::slab) return last;
  if (!is_contraction(op) && !is_accumulator(op)) {
    for (Value operand : op->getOperands())
      if (of(operand).phase == of(x).phase) last = std::max(last, last_use_of_contractions(operand));
    return last;
  }
  for (Operation* user : op->getUsers())
    if (of(user).owner == Owner::slab) last = std::max(last, of(user).phase);
  return last;
}

// Sums over keys of contractions that later slabs need again are made there: else these contractions would be kept in
// shared memory. Returns whether there are such.
bool Placement::delay_sums(Block& body) {
  llvm::DenseMap<Operation*, int> delayed;
  for (auto sum : body.getOps<chunk::SumColumnsOp>()) {
    const Place& place = of(sum.getResult());
    if (place.owner != Owner::slab || slab_axis(sum) != Axis::key) continue;
    const int last = last_use_of_contractions(sum.getX());
    if (last > place.phase) delayed[sum] = last;
  }
  if (delayed.empty()) return false;
  for (Operation& op : body) place(&op, std::max(of(&op).phase, delayed.lookup(&op)));
  return true;
}

// In contractions; an inverse is a chain of small ones.
static int matrix_cost(Operation* op) { return isa<chunk::UnitLowerInverseOp>(op) ? 2 : is_contraction(op); }

// Matrices that are made of each other go to one warp, those that cost most first, each to the warp that has least to
// do in their phase.
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
  llvm::MapVector<Operation*, int> costs;  // by leader
  for (Operation* op : matrices) costs[groups.getLeaderValue(op)] += matrix_cost(op);
  auto dearest_first = costs.takeVector();
  llvm::stable_sort(dearest_first, [](auto& x, auto& y) { return x.second > y.second; });
  llvm::DenseMap<int, std::vector<int>> busy;  // warps, by phase
  llvm::DenseMap<Operation*, int> warp_of;
  for (auto& [leader, cost] : dearest_first) {
    std::vector<int>& loads = busy[of(leader).phase];
    loads.resize(warps);
    auto least = std::min_element(loads.begin(), loads.end());
    *least += std::max(1, cost);
    warp_of[leader] = static_cast<int>(least - loads.begin());
  }
  for (Operation* op : matrices) {
    ops_[op].warp = warp_of.lookup(groups.getLeaderValue(op));
    if (op->getNumResults()) places_[op->getResult(0)].warp = ops_[op].warp;
  }
}

// Without scales there are registers to spare for a share of columns.
bool Placement::fits_shares(Block& body) const {
  const int64_t columns = extent(Axis::key);
  return program_.getBackward() && program_.getPlain() && columns % warps_ == 0 &&
         columns / warps_ <= sm_90a.choices.share_columns && columns / warps_ % 16 == 0 &&
         llvm::all_of(body, [&](Operation& op) {
           const Place& place = of(&op);
           return place.owner != Owner::slab || place.phase < first_after_rows_ || slab_axis(&op) == Axis::key;
         });
}

// Contracts all of the value's rows, the values, with something else's.
static bool contracts_values(Operation* user, Value x) {
  auto dot = dyn_cast<chunk::DotOp>(user);
  return isa<chunk::ColumnDotsOp>(user) || (dot && dot.getY() == x && dot.getX() != x && dot.getYDim() == 0);
}

void Placement::find_held(Block& body) {
  const int last = phases_ - 1;
  if (last == first_after_rows_) return;                                             // nothing precedes what reads them
  int64_t room = int64_t{sm_90a.choices.held_registers} * sm_90a.warp.threads * 32;  // in bits
  for (Operation& op : body)
    for (Value x : op.getOperands()) {
      if (of(&op).phase != last || spaces_.lookup(x) != Space{Axis::value, Axis::key}) continue;
      if (!contracts_values(&op, x)) return held_.clear();
      if (held_.contains(x)) continue;
      const int64_t bits = slab_width(last, Axis::key) * chunk::rows(x) * chunk::element(x).getIntOrFloatBitWidth();
      if (bits > room) continue;
      held_.insert(x);
      room -= bits;
    }
}

// A value read in `phase`, by warps that have a share each, or by others.
void Placement::use(Value operand, int phase, bool by_share) {
  if (auto round = stand_in(operand, phase)) return use(round.getResult(), phase, by_share);
  const bool is_tile = operand.getDefiningOp<chunk::InputOp>() && chunk::columns(operand) > 1;
  if (by_share && holds_any() && is_tile && llvm::none_of(operand.getUsers(), is_contraction)) held_.insert(operand);
  if (by_share && is_held(operand)) --phase;
  Place& place = places_[operand];
  place.last_phase = std::max(place.last_phase, phase);
  if (is_source(operand)) return;
  Operation* op = operand.getDefiningOp();
  if (place.shared || place.phase == phase) return;
  const bool rows = place.owner == Owner::rows;
  if (rows && !first_of_rows_) return;  // its registers stay
  bool again = rows ? waits_.lookup(op) == for_inputs && is_elementwise(op) : !is_stored(op);
  if (place.owner == Owner::anyone || (place.owner != Owner::matrix && again)) {
    for (Value x : op->getOperands()) use(x, phase, by_share);
    return;
  }
  // Registers of slab loops and of one warp's matrices end with their phase; behind teams those of value rows end with
  // the state that is taken through the round.
  place.shared = true;
}

// Whether all that is made of a value, at any distance, grows with it: then what is tiny beside its maximum counts
// little.
static bool is_linear_in(Value x, llvm::DenseSet<Operation*>& seen) {
  return llvm::all_of(x.getUsers(), [&](Operation* user) {
    if (!seen.insert(user).second) return true;
    bool bends =
        isa<chunk::ExpOp, chunk::Exp2Op, chunk::LogOp, chunk::SigmoidOp, chunk::TanhOp, chunk::SoftplusOp,
            chunk::ReluOp, chunk::SqrtOp, chunk::ReciprocalOp, chunk::AtLeastOp, chunk::ExceedsOp, chunk::NotBelowOp>(
            user);
    return !bends && llvm::all_of(user->getResults(), [&](Value result) { return is_linear_in(result, seen); });
  });
}

// Operands that lie in shared memory anyway, of what does not.
void Placement::find_stand_ins(Block& body) {
  if (!program_.getBackward()) return;
  for (auto round : body.getOps<chunk::RoundOp>()) {
    auto widen = round.getX().getDefiningOp<chunk::WidenOp>();
    if (!widen || !widen.getX().getDefiningOp<chunk::InputOp>()) continue;
    if (chunk::element(widen.getX()).getIntOrFloatBitWidth() != 16) continue;
    llvm::DenseSet<Operation*> seen;
    const Place& place = of(round.getResult());
    bool stays = place.shared && place.phase < first_of_rows_;
    if (stays && (has_bound(round) || program_.getPlain()) && chunk::element(round.getResult()).isF16() &&
        llvm::none_of(round.getX().getUsers(), is_contraction) && is_linear_in(round.getX(), seen))
      stand_ins_.try_emplace(round.getX(), round);
  }
}

// What crosses first: it need not be computed again.
void Placement::find_shared(Block& body) {
  auto share = [&](auto is_chosen) {
    for (Operation& op : body)
      for (Value operand : op.getOperands()) {
        if (!is_chosen(operand) || stand_in(operand, of(&op).phase)) continue;
        bool slab = !is_source(operand) && of(operand).owner == Owner::slab;
        places_[operand].shared |= crosses(operand, &op) || (slab && is_contraction(&op));
      }
  };
  share([](Value operand) { return static_cast<bool>(operand.getDefiningOp<chunk::RoundOp>()); });
  find_stand_ins(body);
  share([](Value) { return true; });
  for (Operation& op : body) {
    const Place& place = of(&op);
    const bool by_share = shares_ && place.owner == Owner::slab && place.phase == phases_ - 1;
    for (Value operand : op.getOperands()) use(operand, place.phase, by_share);
  }
}

}  // namespace wkvc
