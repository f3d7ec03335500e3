#include "codegen/lower/Factors.h"

#include <optional>
#include <vector>

#include "codegen/lower/DropUnused.h"
#include "codegen/warp/Warp.h"

using namespace mlir;

namespace wkvc {

namespace {

// 2^(x − y), one of the two a row of the running sums.
struct Power {
  Value x, y;
};
std::optional<Power> power_of(Operation* op) {
  auto power = dyn_cast<chunk::Exp2Op>(op);
  auto difference = power ? power.getX().getDefiningOp<chunk::SubOp>() : chunk::SubOp();
  if (!difference) return std::nullopt;
  return Power{difference.getX(), difference.getY()};
}

chunk::CumsumOp sums_of(Value x) {
  auto sums = x.getDefiningOp<chunk::CumsumOp>();
  return sums && !sums.getReverse() ? sums : chunk::CumsumOp();
}

bool is_row_of(Value row, Value sums) {
  auto op = row.getDefiningOp<chunk::RowOp>();
  return op && op.getX() == sums;
}

// The running sums up to the token before.
bool is_before(Value x, chunk::CumsumOp sums) {
  auto difference = x.getDefiningOp<chunk::SubOp>();
  return difference && difference.getX() == sums && difference.getY() == sums.getX();
}

// Multiplies a gradient before it goes out.
bool comes_last(Operation* op) {
  return isa<chunk::MulOp>(op) && op->hasOneUse() && isa<chunk::OutputOp>(*op->user_begin());
}

// To where it is needed first: the kernel goes in this order, and would hold it in registers until then.
void move_to_first_user(Operation* op) {
  Operation* first = nullptr;
  for (Operation* user : op->getUsers())
    if (!first || user->isBeforeInBlock(first)) first = user;
  if (first) op->moveBefore(first);
}

// Of one row m of running sums L: what the powers that gradients are multiplied by are made of.
class Factors {
 public:
  // Keeps a power, 2^(L − L_m).
  Factors(chunk::Exp2Op power, chunk::CumsumOp sums, Value row) : sums_(sums), row_(row), b_(power) {
    b_.setInsertionPointAfter(power);
    auto f16 = RankedTensorType::get(power.getType().getShape(), b_.getF16Type());
    Value rounded = chunk::RoundOp::create(b_, b_.getUnknownLoc(), f16, power, ArrayAttr(), FloatAttr());
    kept_ = made<chunk::WidenOp>(rounded);
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

void keep_factors(chunk::ProgramOp program) {
  if (!program.getBackward() || !program.getPlain()) return;
  if (static_cast<int64_t>(program.getKeyDim()) <= warp::kNarrowKeys) return;
  auto powers = llvm::to_vector(program.getBody().getOps<chunk::Exp2Op>());
  for (auto power : powers) {
    auto of = power_of(power);
    auto sums = of ? sums_of(of->x) : chunk::CumsumOp();
    if (!sums || !is_row_of(of->y, sums) || llvm::none_of(power->getUsers(), comes_last)) continue;
    Factors factors(power, sums, of->y);
    for (auto other : powers)
      if (auto same = power_of(other))
        if (Value x = factors.replacement(*same))
          other.getResult().replaceUsesWithIf(x, [&](OpOperand& use) {
            return comes_last(use.getOwner()) && x.getDefiningOp()->isBeforeInBlock(use.getOwner());
          });
    factors.move_to_users();
  }
  drop_dead_values(program);
}

}  // namespace wkvc
