#include "codegen/passes/place/KeptForFinish.h"

#include <llvm/ADT/SmallSet.h>

#include "codegen/chunk/DropUnused.h"
#include "codegen/passes/chunk/TokenFactors.h"
#include "codegen/passes/place/Placing.h"
#include "codegen/passes/place/rules/MatrixWarps.h"
#include "codegen/passes/place/rules/Waits.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr llvm::StringLiteral kForFinish = "for_finish";

bool is_number_of_token(Value x) { return chunk::rows(x) > 1 && chunk::columns(x) == 1; }

// Attributes that say nothing about what an operation computes of which operands are left out.
DictionaryAttr meaning_of(Operation* op) {
  NamedAttrList attributes(op->getAttrs());
  for (const char* other : {"at_most", "for_rows", "slice"}) attributes.erase(other);
  return attributes.getDictionary(op->getContext());
}

bool compute_same(Operation* x, Operation* y) {
  return x->getName() == y->getName() && x->getOperands() == y->getOperands() && meaning_of(x) == meaning_of(y);
}

bool is_matrix(Value x) { return chunk::rows(x) > 1 && chunk::columns(x) > 1; }

void mark(Operation* op) { op->setAttr(kForFinish, UnitAttr::get(op->getContext())); }

// Places are those that a program has before anything is kept.
class Keeper {
 public:
  Keeper(chunk::ProgramOp program, const Plan& plan)
      : program_(program),
        placement_(place_values(program, plan.team_warps, /*by_teams=*/true)),
        waits_(find_waits(placement_)),
        idle_(matrix_warps(placement_) - busy_warps()) {}

  bool keep_numbers() {
    return keep_copies(is_number_of_token, [](Operation*) { return true; });
  }

  bool keep_matrices() {
    const auto takes_warp = [&](Operation*) { return idle_-- > 0; };
    const bool any = keep_copies(is_matrix, takes_warp);
    for (auto dot : program_.getBody().getOps<chunk::DotOp>())
      if (is_late(dot) && meets_copy(dot) && takes_warp(dot)) mark(dot);
    return any;
  }

 private:
  // Returns how many warps make matrices in the last phase in which teams prepare.
  int busy_warps() const {
    llvm::SmallSet<int, 8> busy;
    for (Operation* op : placement_.ops_of(Owner::matrix, placement_.first_of_rows() - 1))
      busy.insert(placement_.of(op).warp);
    return static_cast<int>(busy.size());
  }

  bool keep_copies(llvm::function_ref<bool(Value)> has_kind, llvm::function_ref<bool(Operation*)> may_copy) {
    for (Operation& op : placement_.body()) {
      if (!is_finishing(&op)) continue;
      for (OpOperand& operand : op.getOpOperands())
        if (has_kind(operand.get()) && is_made_again(operand.get()))
          if (Value copy = kept(operand.get(), may_copy)) operand.set(copy);
    }
    drop_dead_values(program_);
    return !copies_.empty();
  }

  bool is_finishing(Operation* op) const {
    const ValuePlace& place = placement_.of(op);
    return place.owner != Owner::anyone && place.owner != Owner::rows && place.phase >= placement_.first_after_rows();
  }

  bool is_made_again(Value x) const { return !is_source(x) && placement_.of(x).owner == Owner::anyone; }

  // Returns whether what is made of inputs alone is made after the states have come.
  bool is_late(Operation* op) const { return is_finishing(op) && waits_.lookup(op) == Wait::for_inputs; }

  bool meets_copy(chunk::DotOp dot) const {
    return llvm::any_of(dot->getUsers(), [](Operation* user) {
      return isa<chunk::MulOp>(user) &&
             llvm::any_of(user->getOperands(), [](Value x) { return is_kept_for_finish(x.getDefiningOp()); });
    });
  }

  // Returns the copy that others read already, or a new one; null where there may be none.
  Value kept(Value x, llvm::function_ref<bool(Operation*)> may_copy) {
    Operation* op = x.getDefiningOp();
    Value& copy = copies_[x];
    if (!copy) copy = copy_for_rows(op);
    if (!copy && may_copy(op)) copy = new_copy(op);
    if (copy) return copy;
    copies_.erase(x);
    return {};
  }

  static Value copy_for_rows(Operation* op) {
    for (Operation* user : op->getOperand(0).getUsers())
      if (is_for_rows(user) && compute_same(user, op)) return user->getResult(0);
    return {};
  }

  static Value new_copy(Operation* op) {
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Operation* copy = b.clone(*op);
    mark(copy);
    return copy->getResult(0);
  }

  chunk::ProgramOp program_;
  Placement placement_;
  Waits waits_;
  int idle_;  // warps
  llvm::DenseMap<Value, Value> copies_;
};

}  // namespace

bool keep_numbers(chunk::ProgramOp program, const Plan& plan) { return Keeper(program, plan).keep_numbers(); }

bool keep_matrices(chunk::ProgramOp program, const Plan& plan) { return Keeper(program, plan).keep_matrices(); }

bool is_kept_for_finish(Operation* op) { return op->hasAttr(kForFinish); }

}  // namespace wkvc
