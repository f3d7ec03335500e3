#include "codegen/passes/chunk_to_nest/StateRole.h"

#include <llvm/ADT/TypeSwitch.h>

#include <map>
#include <utility>

#include "codegen/chunk/Names.h"
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_nest/Refusal.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"

using namespace mlir;

namespace wkvc {

constexpr int64_t kGroupRows = 64;  // value rows of a copy: those of one wgmma

// Returns whether a value has value rows, or columns.
static bool has_values(const NestContext& context, Value value) {
  const Space space = context.spaces.lookup(value);
  return space.rows == Axis::value || space.columns == Axis::value;
}

// Returns the value of a program's 1x1 number that a number of tokens has for one of them; null for other values.
static chunk::RowOp element_of(Value number) {
  auto row = number.getDefiningOp<chunk::RowOp>();
  return row && is_of_tokens(row.getX()) ? row : chunk::RowOp();
}

void for_each_row(const NestContext& context, llvm::function_ref<void(Value)> f) {
  for (Operation& op : chunk::ProgramOp(context.program).getBody().getOps()) {
    auto product = dyn_cast<chunk::MulOp>(op);
    if (!product || !has_values(context, product.getResult())) continue;
    for (Value factor : product->getOperands()) {
      if (is_of_tokens(factor)) f(factor);
      if (auto element = element_of(factor)) f(element.getX());
    }
  }
}

namespace {

class StateRole {
 public:
  StateRole(NestContext& context, int64_t registers)
      : context_(context),
        role_(context, "state", /*copies=*/2, registers),
        output_(*context.program.getBody().getOps<chunk::OutputOp>().begin()),
        channel_(context.channel_of(output_.getX())) {}

  void build();

 private:
  // Returns the sum that a product is added to as it is made; null where there is none.
  Value addend_of(chunk::DotOp dot);
  // Returns how many times products have to be waited for before a value is there.
  int waits_before(Value value);

  // Starts products; `await` waits for all of them.
  SmallVector<nest::IssueOp> start(mlir::ArrayRef<chunk::DotOp> dots);
  void await(mlir::ArrayRef<chunk::DotOp> dots, mlir::ArrayRef<nest::IssueOp> started);
  // Computes all that has value rows, and puts the output of the chunk before.
  void take_chunk(Value state, Value output_before);
  nest::IssueOp issue(chunk::DotOp dot);

  // Returns the tile of a value with value rows; tokens × values lie transposed.
  Value tile_of(Value value) {
    if (!tiles_.contains(value)) {
      Value made = make_tile(value);  // which makes others
      tiles_[value] = made;
    }
    return tiles_.lookup(value);
  }
  Value make_tile(Value value);
  Value product(chunk::MulOp op);
  Value factor(Value number);
  Value input_tile(chunk::InputOp input);
  // A tile of the output channel goes to the tensor, as that of the chunk before.
  void store_output(Value tile);

  nest::TileType type_of(Value value) const {
    const bool is_state = context_.spaces.lookup(value).columns == Axis::key;
    return context_.tile(kGroupRows, is_state ? chunk::columns(value) : context_.chunk(), context_.b.getF32Type(),
                         Layout::sums);
  }

  NestContext& context_;
  RoleBuilder role_;
  chunk::OutputOp output_;
  Value channel_;  // of outputs
  llvm::DenseMap<Value, Value> tiles_;
  llvm::DenseMap<Value, int> waits_;
};

Value StateRole::addend_of(chunk::DotOp dot) {
  if (!dot.getResult().hasOneUse()) return {};
  auto sum = dyn_cast<chunk::AddOp>(*dot.getResult().user_begin());
  if (!sum) return {};
  Value other = sum.getX() == dot.getResult() ? sum.getY() : sum.getX();
  auto product = other.getDefiningOp<chunk::DotOp>();  // of two products the later one is added to the other one
  return product && !product->isBeforeInBlock(dot) ? Value() : other;
}

int StateRole::waits_before(Value value) {
  if (!has_values(context_, value)) return 0;
  if (auto found = waits_.find(value); found != waits_.end()) return found->second;
  int waits = 0;
  for (Value operand : value.getDefiningOp()->getOperands()) waits = std::max(waits, waits_before(operand));
  if (auto dot = value.getDefiningOp<chunk::DotOp>()) {
    if (Value addend = addend_of(dot)) waits = std::max(waits, waits_before(addend));
    ++waits;
  }
  return waits_[value] = waits;
}

Value StateRole::input_tile(chunk::InputOp input) {
  Value whole = role_.get(context_.channel_of(input.getResult()));
  Value part = context_.create<nest::PartOp>(
      context_.tile(context_.chunk(), kGroupRows, chunk::element(input.getResult()), Layout::swizzled), whole);
  return role_.transposed(part);
}

// Returns a number of each token, or one of the chunk.
Value StateRole::factor(Value number) {
  if (auto constant = constant_of(number)) return role_.number(*constant);
  if (is_of_tokens(number)) return role_.row(number);
  auto element = element_of(number);
  if (!element) refuse_form(number.getDefiningOp(), "takes recurrences with one decay a token");
  return context_.create<nest::ElementOp>(context_.tile(1, 1, context_.b.getF32Type(), Layout::fragments),
                                          role_.row(element.getX()), element.getIndex());
}

Value StateRole::product(chunk::MulOp op) {
  const bool first = has_values(context_, op.getX());
  Value matrix = first ? op.getX() : op.getY(), number = first ? op.getY() : op.getX();
  Value factor_tile = factor(number);  // before the matrix, which may be a product that is waited for
  return role_.elementwise(nest::Function::multiply, {tile_of(matrix), factor_tile}, type_of(op.getResult()));
}

Value StateRole::make_tile(Value value) {
  Value tile =
      llvm::TypeSwitch<Operation*, Value>(value.getDefiningOp())
          .Case([&](chunk::InputOp input) { return input_tile(input); })
          .Case([&](chunk::WidenOp widen) { return tile_of(widen.getX()); })
          .Case([&](chunk::RoundOp round) {
            return role_.converted(tile_of(round.getX()), chunk::element(round.getResult()), Layout::operand);
          })
          .Case([&](chunk::MulOp op) { return product(op); })
          .Case([&](chunk::AddOp op) {
            return role_.elementwise(nest::Function::add, {tile_of(op.getX()), tile_of(op.getY())}, type_of(value));
          })
          .Case([&](chunk::SubOp op) {
            return role_.elementwise(nest::Function::subtract, {tile_of(op.getX()), tile_of(op.getY())},
                                     type_of(value));
          })
          .Default([](Operation* op) -> Value {
            refuse_form(op, "takes products of matrices, sums and numbers of tokens, not '{}'",
                        op->getName().stripDialect().str());
          });
  set_name(tile, derived_name_of(value));
  return tile;
}

// Returns y · xᵀ, or what the program's product is with values in rows.
nest::IssueOp StateRole::issue(chunk::DotOp dot) {
  const bool first = has_values(context_, dot.getX());
  Value rows = first ? dot.getX() : dot.getY(), others = first ? dot.getY() : dot.getX();
  const bool along_columns = (first ? dot.getYDim() : dot.getXDim()) == 1;
  Value addend = addend_of(dot);
  Value sum = addend ? tile_of(addend) : Value();
  Value x = tile_of(rows), y = role_.get(context_.channel_of(others));
  if (along_columns) y = role_.transposed(y);
  const auto pending = nest::PendingType::get(context_.b.getContext(), type_of(dot.getResult()));
  return context_.create<nest::IssueOp>(pending, "wgmma.registers", x, y, sum, Value());
}

SmallVector<nest::IssueOp> StateRole::start(ArrayRef<chunk::DotOp> dots) {
  // What is computed before comes first, so that products follow each other: operands before sums, which are larger.
  for (chunk::DotOp dot : dots) tile_of(has_values(context_, dot.getX()) ? dot.getX() : dot.getY());
  for (chunk::DotOp dot : dots)
    if (Value addend = addend_of(dot)) tile_of(addend);
  SmallVector<nest::IssueOp> started;
  for (chunk::DotOp dot : dots) started.push_back(issue(dot));
  return started;
}

void StateRole::await(ArrayRef<chunk::DotOp> dots, ArrayRef<nest::IssueOp> started) {
  for (auto [each, issued] : llvm::zip_equal(dots, started)) {
    chunk::DotOp dot = each;
    Value tile = context_.create<nest::AwaitOp>(type_of(dot.getResult()), nest::IssueOp(issued).getResult());
    Value value = addend_of(dot) ? (*dot.getResult().user_begin())->getResult(0) : Value(dot.getResult());
    set_name(tile, derived_name_of(value));
    tiles_[value] = tile;
  }
}

void StateRole::store_output(Value tile) {
  const auto whole = cast<nest::TileType>(tile.getType());
  Value part = context_.create<nest::PartOp>(
      context_.tile(context_.chunk(), kGroupRows, whole.getElement(), Layout::swizzled), tile);
  context_.create<nest::StoreOp>(part, output_.getSym(), /*behind=*/uint64_t{1});
}

void StateRole::take_chunk(Value state, Value output_before) {
  tiles_[(*context_.program.getBody().getOps<chunk::StateOp>().begin()).getResult()] = state;
  std::map<int, SmallVector<chunk::DotOp>> by_waits;
  for (auto dot : context_.program.getBody().getOps<chunk::DotOp>())
    if (has_values(context_, dot.getResult())) by_waits[waits_before(dot.getResult())].push_back(dot);
  for (const auto& [waits, dots] : by_waits) {
    const auto started = start(dots);
    if (output_before) context_.create<nest::PutOp>(role_.transposed(std::exchange(output_before, {})), channel_);
    await(dots, started);
  }
}

// The output of a chunk is put under the first products of the next one, and behind the sweep.
void StateRole::build() {
  const nest::TileType of_output =
      context_.tile(kGroupRows, context_.chunk(), nest::tile_of(channel_).getElement(), Layout::operand);
  auto update = *context_.program.getBody().getOps<chunk::UpdateOp>().begin();
  Value initial = context_.create<nest::LoadStateOp>(type_of(update.getX()), first_state(context_.program));
  set_name(initial, "initial");
  Value none = context_.create<nest::ConstantOp>(of_output, context_.b.getF32FloatAttr(0));
  set_name(none, "none");
  const ValueRange carried = role_.begin_sweep({initial, none});
  set_name(carried[0], "S");
  set_name(carried[1], "output_before");
  take_chunk(carried[0], carried[1]);
  Value rounded = role_.converted(tile_of(output_.getX()), of_output.getElement(), Layout::operand);
  set_name(rounded, "rounded_output");
  context_.create<nest::GuardOp>(rounded);
  store_output(role_.get(channel_));
  const ValueRange last = role_.end_sweep({tile_of(update.getX()), rounded});
  context_.create<nest::PutOp>(role_.transposed(last[1]), channel_);
  store_output(context_.create<nest::GetOp>(nest::tile_of(channel_), channel_));
  context_.create<nest::ReleaseOp>(channel_);
  context_.create<nest::StoreStateOp>(last[0], last_state(context_.program));
}

}  // namespace

void build_state_role(NestContext& context, int64_t registers) { StateRole(context, registers).build(); }

}  // namespace wkvc
