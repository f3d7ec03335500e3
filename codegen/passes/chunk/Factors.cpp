#include "codegen/passes/chunk/Factors.h"

#include <vector>

#include "codegen/chunk/DropUnused.h"
#include "codegen/passes/chunk/FirstUser.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr llvm::StringLiteral kKept = "kept_factor";

// 2^(x − y).
struct Power {
  chunk::Exp2Op op;
  Value x, y;
};

chunk::CumsumOp sums_of(Value x) {
  auto sums = x.getDefiningOp<chunk::CumsumOp>();
  return sums && !sums.getReverse() && !sums.getExclusive() ? sums : chunk::CumsumOp();
}

// The running sums up to the token before.
bool is_before(Value x, chunk::CumsumOp sums) {
  auto difference = x.getDefiningOp<chunk::SubOp>();
  return difference && difference.getX() == sums && difference.getY() == sums.getX();
}

// The powers of differences from a row, or from a number in place of one.
std::vector<Power> powers_of(Value row) {
  std::vector<Power> powers;
  for (Operation* user : row.getUsers())
    if (auto difference = dyn_cast<chunk::SubOp>(user))
      for (Operation* reader : difference->getUsers())
        if (auto power = dyn_cast<chunk::Exp2Op>(reader))
          powers.push_back({power, difference.getX(), difference.getY()});
  return powers;
}

// The running sums that such powers are made of; null if there are none.
chunk::CumsumOp sums_in(llvm::ArrayRef<Power> powers) {
  for (const Power& power : powers)
    for (Value x : {power.x, power.y})
      if (auto sums = sums_of(x)) return sums;
  return {};
}

// Of running sums L and one of their rows m, or a number in its place: what the powers that gradients are multiplied by
// are made of.
class Factors {
 public:
  // `power`: 2^(L − L_m), if the program has it; what is kept does not depend on that.
  Factors(chunk::CumsumOp sums, Value row, chunk::Exp2Op power) : sums_(sums), row_(row), b_(sums) {
    Operation* made_of = row.getDefiningOp();
    if (made_of->isBeforeInBlock(sums)) made_of = sums;
    b_.setInsertionPointAfter(power ? power.getOperation() : made_of);
    Value growing = power ? power.getResult() : made<chunk::Exp2Op>(made<chunk::SubOp>(sums_.getResult(), row_));
    auto f16 = RankedTensorType::get(sums.getType().getShape(), b_.getF16Type());
    auto rounded = chunk::RoundOp::create(b_, b_.getUnknownLoc(), f16, growing, ArrayAttr(), FloatAttr());
    rounded->setAttr(kKept, b_.getUnitAttr());
    made_.clear();
    kept_ = made<chunk::WidenOp>(rounded.getResult());
  }

  // In place of another power of the same row; null if it is none.
  Value replacement(const Power& power) {
    if (power.x == sums_ && power.y == row_) return kept_;
    if (power.x == row_ && power.y == sums_) return made<chunk::ReciprocalOp>(kept_);
    // 2^(L − l) = 2^L · 2^−l.
    if (is_before(power.x, sums_) && power.y == row_)
      return made<chunk::MulOp>(kept_, made<chunk::Exp2Op>(made<chunk::NegOp>(sums_.getX())));
    return {};
  }

  // Once all are replaced.
  void move_to_users() {
    for (Operation* op : llvm::reverse(made_)) move_to_first_user(op);
  }

 private:
  template <class Op, class... Operands>
  Value made(Operands... operands) {
    Op op = Op::create(b_, b_.getUnknownLoc(), sums_.getType(), operands...);
    made_.push_back(op);
    return op.getResult();
  }

  chunk::CumsumOp sums_;
  Value row_;
  OpBuilder b_;
  Value kept_;
  std::vector<Operation*> made_;
};

}  // namespace

bool goes_out(Operation* product) {
  return isa_and_nonnull<chunk::MulOp>(product) && product->hasOneUse() && isa<chunk::OutputOp>(*product->user_begin());
}

bool is_kept_factor(Operation* op) { return op->hasAttr(kKept); }

void keep_factors(chunk::ProgramOp program) {
  if (!program.getBackward() || !program.getPlain() || !sm_90a.is_wide(program.getKeyDim())) return;
  llvm::SmallVector<Value> rows;
  for (Operation& op : program.getBody().front())
    if (isa<chunk::RowOp>(op) || (isa<chunk::ConstantOp>(op) && chunk::columns(op.getResult(0)) == 1))
      rows.push_back(op.getResult(0));
  for (Value row : rows) {
    const std::vector<Power> powers = powers_of(row);
    auto op = row.getDefiningOp<chunk::RowOp>();
    auto sums = op ? sums_of(op.getX()) : sums_in(powers);
    const bool needed = llvm::any_of(powers, [](auto& power) { return llvm::any_of(power.op->getUsers(), goes_out); });
    if (!sums || !needed) continue;
    auto growing = llvm::find_if(powers, [&](auto& power) { return power.x == sums && power.y == row; });
    Factors factors(sums, row, growing == powers.end() ? chunk::Exp2Op() : growing->op);
    for (Power power : powers)
      if (Value x = factors.replacement(power))
        power.op.getResult().replaceUsesWithIf(x, [&](OpOperand& use) {
          return goes_out(use.getOwner()) && x.getDefiningOp()->isBeforeInBlock(use.getOwner());
        });
    factors.move_to_users();
  }
  drop_dead_values(program);
}

}  // namespace wkvc
