#include "codegen/passes/place/KeptForFinish.h"

#include "codegen/chunk/DropUnused.h"
#include "codegen/passes/chunk/TokenFactors.h"
#include "codegen/passes/place/Placing.h"

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

class Keeper {
 public:
  Keeper(chunk::ProgramOp program, const Plan& plan)
      : program_(program), placement_(place_values(program, plan.team_warps, /*teams=*/true)) {}

  bool run() {
    for (Operation& op : placement_.body())
      if (is_finishing(&op))
        for (OpOperand& operand : op.getOpOperands())
          if (is_made_again(operand.get())) operand.set(kept(operand.get()));
    drop_dead_values(program_);
    return !copies_.empty();
  }

 private:
  bool is_finishing(Operation* op) const {
    const ValuePlace& place = placement_.of(op);
    return place.owner != Owner::anyone && place.owner != Owner::rows && place.phase >= placement_.first_after_rows();
  }

  bool is_made_again(Value x) const {
    return is_number_of_token(x) && !is_source(x) && placement_.of(x).owner == Owner::anyone;
  }

  // Returns the copy that value rows read already, or a new one.
  Value kept(Value number) {
    Value& copy = copies_[number];
    if (!copy) copy = copy_for_rows(number.getDefiningOp());
    if (!copy) copy = new_copy(number.getDefiningOp());
    return copy;
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
    copy->setAttr(kForFinish, b.getUnitAttr());
    return copy->getResult(0);
  }

  chunk::ProgramOp program_;
  Placement placement_;
  llvm::DenseMap<Value, Value> copies_;
};

}  // namespace

bool keep_numbers(chunk::ProgramOp program, const Plan& plan) { return Keeper(program, plan).run(); }

bool is_kept_for_finish(Operation* op) { return op->hasAttr(kForFinish); }

}  // namespace wkvc
