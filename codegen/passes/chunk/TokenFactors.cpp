#include "codegen/passes/chunk/TokenFactors.h"

#include <optional>

#include "codegen/chunk/Axes.h"
#include "codegen/chunk/DropUnused.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr llvm::StringLiteral kForRows = "for_rows";

bool is_number_of_token(Value x) { return chunk::rows(x) > 1 && chunk::columns(x) == 1; }

bool is_input(Value x) {
  auto widened = x.getDefiningOp<chunk::WidenOp>();
  return static_cast<bool>((widened ? widened.getX() : x).getDefiningOp<chunk::InputOp>());
}

// An operand that is an input's tile, each row multiplied by a number.
struct ScaledInput {
  Value tile, factor;
};

std::optional<ScaledInput> scaled_input(Value operand) {
  auto round = operand.getDefiningOp<chunk::RoundOp>();
  auto product = round ? round.getX().getDefiningOp<chunk::MulOp>() : chunk::MulOp();
  if (!product || !is_number_of_token(product.getY()) || !is_input(product.getX())) return {};
  return ScaledInput{product.getX(), product.getY()};
}

class Mover {
 public:
  explicit Mover(chunk::ProgramOp program) : program_(program), spaces_(infer_spaces(program)) {}

  // Returns whether anything has moved.
  bool run() {
    for (auto product : llvm::make_early_inc_range(program_.getBody().getOps<chunk::MulOp>())) narrow(product);
    for (auto op : llvm::make_early_inc_range(program_.getBody().getOps<chunk::KeepValidOp>())) select(op);
    llvm::SmallVector<Value> operands;
    for (auto round : program_.getBody().getOps<chunk::RoundOp>()) operands.push_back(round.getResult());
    for (Value operand : operands) move(operand);
    copy_for_rows();
    drop_dead_values(program_);
    return moved_;
  }

 private:
  // Returns whether a product is of a state, or of what teams make of two states.
  bool is_of_states(Value product) const {
    const Space space = spaces_.lookup(product);
    if (space == Space{Axis::value, Axis::key}) return true;
    chunk::ProgramOp program = program_;
    return program.getBackward() && program.getSchedule().by_teams() && space == Space{Axis::one, Axis::key};
  }

  // What multiplies a state, 2 to the power of a row whose columns all are one token's number, becomes one number.
  void narrow(chunk::MulOp product) {
    auto power = product.getY().getDefiningOp<chunk::Exp2Op>();
    auto row = power ? power.getX().getDefiningOp<chunk::RowOp>() : chunk::RowOp();
    auto wide = row ? row.getX().getDefiningOp<chunk::AddOp>() : chunk::AddOp();
    auto zeros = wide ? wide.getX().getDefiningOp<chunk::ConstantOp>() : chunk::ConstantOp();
    if (!zeros || !zeros.getValue().isZero() || !is_number_of_token(wide.getY())) return;
    if (!is_of_states(product.getResult())) return;
    OpBuilder b(product);
    const auto type = RankedTensorType::get({1, 1}, b.getF32Type());
    Value number =
        chunk::RowOp::create(b, row.getLoc(), type, powers_of(b, wide.getY()), row.getIndex(), row.getAnchor());
    mark_for_rows(number);
    set_name(number, name_of(power.getResult()));
    product.getYMutable().assign(number);
  }

  void mark_for_rows(Value number) {
    number.getDefiningOp()->setAttr(kForRows, UnitAttr::get(number.getContext()));
    moved_ = true;
  }

  // Returns the powers of 2 that are there already, or new ones.
  static Value powers_of(OpBuilder& b, Value logarithms) {
    for (Operation* user : logarithms.getUsers())
      if (auto power = dyn_cast<chunk::Exp2Op>(user)) return power.getResult();
    b.setInsertionPointAfterValue(logarithms);
    const Value powers = chunk::Exp2Op::create(b, b.getUnknownLoc(), logarithms.getType(), logarithms);
    b.setInsertionPointAfterValue(powers);
    return powers;
  }

  // An input is zero behind the last token, so that the number alone has to be selected.
  void select(chunk::KeepValidOp op) {
    auto product = op.getX().getDefiningOp<chunk::MulOp>();
    if (!product || !is_number_of_token(product.getY()) || !is_input(product.getX())) return;
    OpBuilder b(op);
    Value selected = chunk::MulOp::create(b, op.getLoc(), op.getType(), product.getX(), valid(b, product.getY()));
    op.replaceAllUsesWith(selected);
    op.erase();
  }

  void move(Value operand) {
    const auto scaled = scaled_input(operand);
    if (!scaled || spaces_.lookup(scaled->tile) != Space{Axis::token, Axis::key}) return;
    if (!llvm::all_of(operand.getUsers(), [&](Operation* user) { return is_movable(user, operand); })) return;
    const Value plain = rounded(scaled->tile, operand.getType());
    moved_ = true;
    for (Operation* user : llvm::make_early_inc_range(operand.getUsers()))
      move(cast<chunk::DotOp>(user), operand, plain, scaled->factor);
  }

  // Returns whether the result's rows are the operand's tokens, or whether both operands are contracted over tokens.
  // Matrices of tokens by tokens have their numbers already.
  bool is_movable(Operation* user, Value operand) const {
    auto dot = dyn_cast<chunk::DotOp>(user);
    if (!dot || dot.getWide() || dot.getX() == dot.getY()) return false;
    if (dot.getX() == operand && dot.getXDim() == 1)
      return spaces_.lookup(dot.getResult()) == Space{Axis::token, Axis::value};
    const Value other = dot.getX() == operand ? dot.getY() : dot.getX();
    auto round = other.getDefiningOp<chunk::RoundOp>();
    return dot.getXDim() == 0 && dot.getYDim() == 0 && round &&
           spaces_.lookup(round.getX()) == Space{Axis::token, Axis::value};
  }

  void move(chunk::DotOp dot, Value operand, Value plain, Value factor) {
    OpBuilder b(dot);
    OpOperand& here = dot.getX() == operand ? dot.getXMutable() : dot.getYMutable();
    here.set(plain);
    if (dot.getXDim() == 0) {
      OpOperand& other = dot.getX() == plain ? dot.getYMutable() : dot.getXMutable();
      other.set(times(b, other.get().getDefiningOp<chunk::RoundOp>(), factor));
      return;
    }
    b.setInsertionPointAfter(dot);
    auto product = chunk::MulOp::create(b, dot.getLoc(), dot.getType(), dot.getResult(), factor);
    dot.getResult().replaceAllUsesExcept(product.getResult(), product);
  }

  static Value valid(OpBuilder& b, Value number) {
    return chunk::KeepValidOp::create(b, number.getLoc(), number.getType(), number);
  }

  // A number for value rows: a warp that prepares the chunk makes it once for them (Owners.h). Other readers make
  // theirs again.
  Value of_rows(Value number) {
    Value& copy = copies_[number];
    if (copy) return copy;
    Operation* op = number.getDefiningOp();
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    copy = isa<chunk::InputOp>(op) ? valid(b, number) : b.clone(*op)->getResult(0);
    mark_for_rows(copy);
    return copy;
  }

  // Gives value rows copies of all numbers that they multiply by.
  void copy_for_rows() {
    const Spaces spaces = infer_spaces(program_);
    for (auto product : program_.getBody().getOps<chunk::MulOp>()) {
      const Value number = product.getY();
      if (!is_number_of_token(number) || is_for_rows(number.getDefiningOp())) continue;
      if (spaces.lookup(product.getX()) == Space{Axis::token, Axis::value})
        product.getYMutable().assign(of_rows(number));
    }
  }

  static Value times(OpBuilder& b, chunk::RoundOp round, Value factor) {
    const Value x = round.getX();
    const Value product = chunk::MulOp::create(b, b.getUnknownLoc(), x.getType(), x, factor);
    return chunk::RoundOp::create(b, b.getUnknownLoc(), round.getType(), product, ArrayAttr(), FloatAttr());
  }

  // Returns the operand that other contractions read already, or a new one.
  static Value rounded(Value tile, Type type) {
    for (Operation* user : tile.getUsers())
      if (auto round = dyn_cast<chunk::RoundOp>(user); round && round.getType() == type) {
        round->moveAfter(tile.getDefiningOp());
        return round.getResult();
      }
    OpBuilder b(tile.getContext());
    b.setInsertionPointAfterValue(tile);
    return chunk::RoundOp::create(b, tile.getLoc(), type, tile, ArrayAttr(), FloatAttr());
  }

  chunk::ProgramOp program_;
  Spaces spaces_;
  bool moved_ = false;
  llvm::DenseMap<Value, Value> copies_;  // of numbers, for value rows
};

}  // namespace

bool is_for_rows(Operation* number) { return number->hasAttr(kForRows); }

bool move_token_factors(chunk::ProgramOp program) { return program.getPlain() && Mover(program).run(); }

}  // namespace wkvc
