#include "codegen/passes/place/SumScales.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/place/Placing.h"
#include "codegen/passes/place/Roundings.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr float kRoom = 128;  // so that |input| is below twice the scale

// Of the scale of an operand that is bounded by an input, what the input's maximum is at most.
double largest_input(chunk::RoundOp round) { return kLargestOperand / round.getFactor()->convertToDouble(); }

// As it is before bounds are found.
void set_own_scale(chunk::RoundOp round) {
  Builder b(round.getContext());
  round.setBoundAttr(b.getStrArrayAttr({}));
  round.setFactorAttr(b.getF32FloatAttr(0));
}

bool is_bounded_by_one(chunk::RoundOp round) { return has_bound(round) && round.getBound()->size() == 1; }
llvm::StringRef bounding(chunk::RoundOp round) { return cast<StringAttr>((*round.getBound())[0]).getValue(); }

ScaleProduct product(ScaleProduct a, const ScaleProduct& b) {
  for (auto [scale, power] : b) {
    a[scale] += power;
    if (a[scale] == 0) a.erase(scale);
  }
  return a;
}

class Finder {
 public:
  Finder(const Placement& placement, Operation* state)
      : program_(placement.program()), placement_(placement), phase_(placement.of(state).phase) {
    found_.state = state;
  }

  std::optional<SumScales> run() {
    for (Operation& op : program_.getBody().front())
      if (!visit(&op)) return std::nullopt;
    return is_of_one_scale() ? std::optional(std::move(found_)) : std::nullopt;
  }

 private:
  bool is_of_rows(Operation* op) const { return placement_.of(op).owner == Owner::rows; }
  // Neither before the state comes nor with it.
  bool is_elsewhere(Operation* op) const {
    int phase = placement_.of(op).phase;
    return is_of_rows(op) ? phase != phase_ : phase > phase_;
  }
  const ScaleProduct* unit(Value x) const {
    auto it = units_.find(x);
    return it == units_.end() ? nullptr : &it->second;
  }
  // As value rows take it.
  const ScaleProduct* unit_in_rows(Value x) const {
    auto it = brought_.find(x);
    return it == brought_.end() ? unit(x) : &it->second;
  }

  bool visit(Operation* op) {
    if (op == found_.state) {
      units_[op->getResult(0)] = {{op, 1}};
      return true;
    }
    if (is_elsewhere(op)) return true;
    if (auto round = dyn_cast<chunk::RoundOp>(op)) return visit(round);
    if (auto dot = dyn_cast<chunk::DotOp>(op)) return visit(dot);
    return !op->getNumResults() || !is_of_rows(op) || visit_rows(op);
  }

  // Where a rounding chooses the scale there is one, and what becomes of the state is made of the sum that was rounded.
  bool is_of_one_scale() {
    auto& roundings = found_.roundings;
    found_.of_block = !llvm::all_of(roundings, [](chunk::RoundOp round) { return !!state_of_scale(round); });
    if (found_.of_block ? roundings.empty() : roundings.size() != 1) return false;
    return llvm::all_of(program_.getBody().front(), [&](Operation& op) {
      if (!updates_state(&op)) return true;
      const ScaleProduct* of_update = unit(op.getOperand(0));
      return of_update && *of_update == ScaleProduct{{found_.state, 1}} &&
             (found_.of_block || is_made_of(op.getOperand(0), roundings.front().getX()));
    });
  }
  bool updates_state(Operation* op) const {
    return isa<chunk::SavedStateOp>(found_.state) ? isa<chunk::UpdateSavedOp>(op) : isa<chunk::UpdateOp>(op);
  }
  static bool is_made_of(Value x, Value sum) {
    Operation* op = x.getDefiningOp();
    return x == sum || (isa<chunk::AddOp, chunk::MulOp>(op) &&
                        llvm::any_of(op->getOperands(), [&](Value operand) { return is_made_of(operand, sum); }));
  }

  // What is made of sums that have a unit. A product with a row keeps it, sums have that of their terms; before
  // anything else it is taken off.
  bool visit_rows(Operation* op) {
    if (llvm::none_of(op->getOperands(), [&](Value x) { return unit(x); })) return true;
    if (isa<chunk::AddOp>(op)) return visit_sum(op);
    if (auto product = dyn_cast<chunk::MulOp>(op)) {
      Value x = product.getX(), row = product.getY();
      if (!unit(x)) std::swap(x, row);
      if (!unit(row) && is_row_beside(row, x)) units_[product.getResult()] = ScaleProduct(*unit(x));
    }
    return true;
  }

  // As they are held: C×V values as value rows × tokens.
  bool is_row_beside(Value row, Value x) const {
    if (placement_.space(x).columns == Axis::value)
      return chunk::columns(row) == 1 && chunk::rows(row) == chunk::rows(x);
    return chunk::rows(row) == 1 && chunk::columns(row) == chunk::columns(x);
  }

  bool accumulates(Value x, Operation* sum) const {
    return x.getDefiningOp<chunk::DotOp>() && x.hasOneUse() && placement_.of(x).phase == placement_.of(sum).phase;
  }

  // A contraction may be added to what has no unit, first of all.
  bool visit_sum(Operation* op) {
    Value first = op->getOperand(0), second = op->getOperand(1);
    if (first.getDefiningOp<chunk::ConstantOp>() || !accumulates(second, op)) return true;
    const ScaleProduct *x = unit(first), *y = unit(second);
    if (!y || (x && *x != *y)) return false;
    units_[op->getResult(0)] = ScaleProduct(*y);
    return true;
  }

  bool visit(chunk::DotOp dot) {
    const bool of_rows = is_of_rows(dot);
    const ScaleProduct *x = of_rows ? unit_in_rows(dot.getX()) : unit(dot.getX()),
                       *y = of_rows ? unit_in_rows(dot.getY()) : unit(dot.getY());
    if (x && y) units_[dot.getResult()] = product(*x, *y);
    if (!of_rows) return true;
    found_.products.insert(dot);
    return x && y;
  }

  bool visit(chunk::RoundOp round) {
    if (chunk::element(round.getResult()).isTF32()) return true;  // which has no scale
    if (!may_have_scale(chunk::element(round.getResult()))) return false;
    if (is_of_rows(round)) return visit_of_rows(round);
    if (!round.getBound()) {
      units_[round.getResult()] = {};  // a scale of 1
    } else if (auto inside = as_products(round)) {
      for (chunk::DotOp dot : *inside) found_.products.insert(dot);
      found_.as_is.insert(round);
      units_[round.getResult()] = *unit(inside->front().getResult());
    } else {
      units_[round.getResult()] = {{has_bound(round) ? first_alike(round) : round, 1}};
    }
    return placement_.space(round.getResult()).columns != Axis::value || bring_to_state(round);
  }

  // If value rows update the state with it.
  bool bring_to_state(chunk::RoundOp round) {
    auto other = updates_with(round);
    if (!other || !round.getBound()) return true;
    found_.brought[round] = other;
    ScaleProduct& in = brought_[round.getResult()] = {{found_.state, 1}, {first_alike(other), -1}};
    return fits(round, in);
  }

  Operation* first_alike(chunk::RoundOp round) const {
    for (auto other : program_.getBody().getOps<chunk::RoundOp>())
      if (other.getBoundAttr() == round.getBoundAttr() && other.getFactorAttr() == round.getFactorAttr()) return other;
    return round;
  }

  bool visit_of_rows(chunk::RoundOp round) {
    ScaleProduct in;
    if (rounded_state(round) == found_.state->getResult(0)) {
      found_.roundings.push_back(round);
      if (!state_of_scale(round)) found_.as_is.insert(round);
      in = {{found_.state, 1}};
    } else if (auto other = updates_with(round); other && placement_.is_shared(round.getResult())) {
      return bring_to_state(round);
    } else if (other) {
      found_.beside[round] = other;
      in = {{found_.state, 1}, {first_alike(other), -1}};
    } else if (const ScaleProduct* of_sum = unit(round.getX())) {
      found_.as_is.insert(round);
      in = *of_sum;
    } else {
      return false;
    }
    units_[round.getResult()] = in;
    return fits(round, in);
  }

  // The operand with which the state is updated, if one was rounded with a bound.
  chunk::RoundOp updates_with(chunk::RoundOp round) const {
    for (Operation* user : round->getUsers()) {
      auto dot = dyn_cast<chunk::DotOp>(user);
      if (!dot || is_elsewhere(dot) || dot.getType() != found_.state->getResult(0).getType()) continue;
      auto other = (dot.getX() == round.getResult() ? dot.getY() : dot.getX()).getDefiningOp<chunk::RoundOp>();
      if (other && has_bound(other) && !is_of_rows(other)) return other;
    }
    return {};
  }

  bool fits(chunk::RoundOp round, const ScaleProduct& unit) {
    auto bound = bound_of(round.getX(), Known::operands);
    if (!bound || unit.count(found_.state) == 0 || unit.at(found_.state) != 1) return false;
    for (const auto& product : bound->products)
      for (const std::string& name : product)
        if (!is_known(name)) return false;
    found_.fits.push_back({*bound, unit});
    return true;
  }

  // The state, or what operands have scales from.
  bool is_known(llvm::StringRef name) const {
    if (chunk::symbol(found_.state) == name) return true;
    for (Operation& op : program_.getBody().front())  // another state, of which nothing is known before it is there
      if (isa<chunk::StateOp, chunk::SavedStateOp>(op) && chunk::symbol(&op) == name) return false;
    return llvm::any_of(program_.getBody().getOps<chunk::RoundOp>(), [&](chunk::RoundOp round) {
      if (has_own_scale(round))
        return placement_.of(round.getResult()).owner == Owner::matrix && own_maximum(round) == name;
      return has_bound(round) && llvm::is_contained(round.getBound()->getAsValueRange<StringAttr>(), name);
    });
  }

  // The contractions of which a C×C matrix is the sum, if it fits f16 in their scale.
  std::optional<std::vector<chunk::DotOp>> as_products(chunk::RoundOp round) const {
    std::vector<chunk::DotOp> dots;
    auto bound = bound_of(round.getX(), Known::sums);
    if (!bound || !gather(round.getX(), dots)) return std::nullopt;
    auto x = dots.front().getX().getDefiningOp<chunk::RoundOp>(),
         y = dots.front().getY().getDefiningOp<chunk::RoundOp>();
    std::vector<std::string> of_both{bounding(x).str(), bounding(y).str()};
    double most = bound->factor * static_cast<double>(bound->products.size()) * largest_input(x) * largest_input(y);
    bool alike =
        llvm::all_of(dots,
                     [&](chunk::DotOp dot) { return *unit(dot.getResult()) == *unit(dots.front().getResult()); }) &&
        llvm::all_of(bound->products, [&](auto& product) {
          return std::is_permutation(product.begin(), product.end(), of_both.begin(), of_both.end());
        });
    return alike && most < kHalfOfF16 ? std::optional(dots) : std::nullopt;
  }

  bool gather(Value x, std::vector<chunk::DotOp>& dots) const {
    Operation* op = x.getDefiningOp();
    if (!x.hasOneUse() || placement_.of(op).owner != Owner::matrix) return false;
    if (isa<chunk::TrilOp, chunk::LevelPairsOp>(op)) return gather(op->getOperand(0), dots);
    if (isa<chunk::AddOp>(op)) return gather(op->getOperand(0), dots) && gather(op->getOperand(1), dots);
    auto dot = dyn_cast<chunk::DotOp>(op);
    if (!dot || !unit(x)) return false;
    for (Value operand : {dot.getX(), dot.getY()}) {
      auto round = operand.getDefiningOp<chunk::RoundOp>();
      if (!round || !is_bounded_by_one(round)) return false;
    }
    dots.push_back(dot);
    return true;
  }

  mutable chunk::ProgramOp program_;  // whose accessors are not const
  const Placement& placement_;
  int phase_;  // of value rows, in which the state is taken through a chunk
  SumScales found_;
  llvm::DenseMap<Value, ScaleProduct> units_, brought_;
};

}  // namespace

std::vector<SumScales> find_sum_scales(const Placement& placement) {
  std::vector<SumScales> found;
  for (Operation& op : placement.body())
    if (isa<chunk::StateOp, chunk::SavedStateOp>(op) && can_carry_scale(&op))
      if (auto scales = Finder(placement, &op).run()) found.push_back(std::move(*scales));
  return found;
}

void make_room_for_products(chunk::ProgramOp program, int warps) {
  Builder b(program.getContext());
  std::vector<std::pair<chunk::RoundOp, FloatAttr>> before;
  for (auto round : program.getBody().getOps<chunk::RoundOp>()) {
    bool of_input = is_bounded_by_one(round) && !bounding_state(round);
    if (!of_input || round.getFactor()->convertToDouble() >= kRoom) continue;
    before.emplace_back(round, round.getFactorAttr());
    round.setFactorAttr(b.getF32FloatAttr(kRoom));
  }
  const Placement placement = stored(place_values(program, warps, /*by_teams=*/true), Stored::sums);
  const auto found = find_sum_scales(placement);
  if (found.empty())
    for (auto& [round, factor] : before) round.setFactorAttr(factor);
  for (const SumScales& scales : found)
    for (Operation* round : scales.as_is)
      if (placement.of(round).owner == Owner::matrix) set_own_scale(cast<chunk::RoundOp>(round));
}

}  // namespace wkvc
