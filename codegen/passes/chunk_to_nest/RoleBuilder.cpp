#include "codegen/passes/chunk_to_nest/RoleBuilder.h"

#include "codegen/chunk/Names.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

constexpr int64_t kWarps = 4;  // of a warp group

RoleBuilder::RoleBuilder(NestContext& context, llvm::StringRef name, int64_t copies, int64_t registers)
    : context_(context) {
  b().setInsertionPointToEnd(&context.kernel.getBody().front());
  role_ = context.create<nest::RoleOp>(name, copies, kWarps, registers);
  b().createBlock(&role_.getBody());
}

ValueRange RoleBuilder::begin_sweep(ValueRange initial) {
  sweep_ = context_.create<nest::SweepOp>(initial.getTypes(), "chunks", IntegerAttr(), /*backward=*/false,
                                          /*dealt=*/false, initial);
  Block* const body = b().createBlock(&sweep_.getBody());
  for (Type type : initial.getTypes()) body->addArgument(type, sweep_.getLoc());
  return body->getArguments();
}

ValueRange RoleBuilder::end_sweep(ValueRange next) {
  if (!next.empty()) context_.create<nest::YieldOp>(next);
  release_all();
  b().setInsertionPointAfter(sweep_);
  return sweep_.getResults();
}

Value RoleBuilder::get(Value channel) {
  Value& tile = got_[channel];
  if (!tile) {
    tile = context_.create<nest::GetOp>(nest::tile_of(channel), channel);
    set_name(tile, (name_of(channel) + "_tile").str());
  }
  return tile;
}

Value RoleBuilder::row(Value number) {
  const auto index = context_.rows.row_of(number);
  const auto tile = context_.tile(1, context_.chunk(), b().getF32Type(), Layout::plain);
  Value row = context_.create<nest::RowOp>(tile, get(context_.numbers), static_cast<uint64_t>(index));
  set_name(row, derived_name_of(number));
  return row;
}

Value RoleBuilder::transposed(Value tile) {
  const auto from = cast<nest::TileType>(tile.getType());
  return context_.create<nest::TransposeOp>(
      context_.tile(from.getColumns(), from.getRows(), from.getElement(), from.getLayout()), tile);
}

Value RoleBuilder::elementwise(nest::Function function, ValueRange operands, nest::TileType result) {
  return context_.create<nest::ElementwiseOp>(result, function, operands);
}

Value RoleBuilder::product(Value x, Value y) {
  const auto rows = cast<nest::TileType>(x.getType()).getRows(),
             columns = cast<nest::TileType>(y.getType()).getColumns();
  const auto sums = context_.tile(rows, columns, b().getF32Type(), Layout::sums);
  Value started = context_.create<nest::IssueOp>(nest::PendingType::get(b().getContext(), sums), "wgmma.shared", x, y,
                                                 Value(), Value());
  return context_.create<nest::AwaitOp>(sums, started);
}

Value RoleBuilder::number(double value) {
  return context_.create<nest::ConstantOp>(context_.tile(1, 1, b().getF32Type(), Layout::fragments),
                                           b().getF32FloatAttr(static_cast<float>(value)));
}

Value RoleBuilder::converted(Value tile, Type element, Layout layout) {
  const auto from = cast<nest::TileType>(tile.getType());
  return context_.create<nest::ConvertOp>(context_.tile(from.getRows(), from.getColumns(), element, layout), tile);
}

// Returns the last operation of the sweep that reads a tile, whose expressions are evaluated where they are used.
static Operation* last_reader(Value tile) {
  Operation* last = tile.getDefiningOp();
  const auto consider = [&](Operation* op) {
    if (op->getBlock() == last->getBlock() && last->isBeforeInBlock(op)) last = op;
  };
  for (Operation* user : tile.getUsers()) {
    consider(user);
    const bool is_view = isa<nest::TransposeOp, nest::PartOp, nest::RowOp, nest::StackOp>(user);
    if (is_view || isa<nest::IssueOp>(user) || nest::is_inlined(user))
      for (Value result : user->getResults()) consider(last_reader(result));
  }
  return last;
}

// Each tile is released behind its last reader; one that another tile is put over is released by the put.
void RoleBuilder::release_all() {
  const OpBuilder::InsertionGuard guard(b());
  for (auto [channel, tile] : got_) {
    auto over = nest::replacement_of(channel.getDefiningOp<nest::ChannelOp>());
    const bool is_put_over = over && llvm::is_contained(nest::producers_of(over), role_);
    if (is_put_over) continue;
    b().setInsertionPointAfter(last_reader(tile));
    context_.create<nest::ReleaseOp>(channel);
  }
}

}  // namespace wkvc
