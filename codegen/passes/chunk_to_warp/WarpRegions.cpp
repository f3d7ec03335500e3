// The operations of one phase, by their owners: slabs of columns, matrices of one warp, value rows.
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"

using namespace mlir;

namespace wkvc {

// The first column, for operations that are built next.
Value WarpBuilder::begin_slab(warp::SlabsOp loop) {
  Block& block = loop.getBody().emplaceBlock();
  Value column = block.addArgument(b_.getIndexType(), program_.getLoc());
  set_name(column, "column");
  b_.setInsertionPointToEnd(&block);
  return column;
}

void WarpBuilder::slabs(const std::vector<Operation*>& ops) {
  for (Axis axis : {Axis::key, Axis::value}) {
    auto along = ops;
    llvm::erase_if(along, [&](Operation* op) { return placement_.slab_axis(op) != axis; });
    slabs(along, axis);
  }
}

// The columns of this warp's slab, and operands that are held from here on: what states leave is there when these have
// gone through the round.
void WarpBuilder::begin_share() {
  owner_ = Owner::slab;
  slab_axis_ = Axis::key;
  column_ = create<warp::ShareOp>(placement_.slab_width(phase_, slab_axis_));
  set_name(column_, "column");
  held_.clear();
  for (auto& [value, buffer] : of_.shared.values())
    if (placement_.is_held(value)) columns_of_share(value);
  for (auto& [value, ring] : of_.shared.rings())
    if (placement_.is_held(value)) held_[value] = loaded(value);
}

// As operands that are contracted over all rows: a share of the columns, transposed.
Value WarpBuilder::columns_of_share(Value value) {
  Value& held = held_[value];
  if (held) return held;
  auto type = VectorType::get({placement_.slab_width(phase_, slab_axis_), chunk::rows(value)}, chunk::element(value));
  held = create<warp::LoadOp>(type, shared_tile(value), column_, /*own=*/false, /*transposed=*/true,
                              /*own_rows=*/false);
  set_name(held, (name_of(value) + "_columns").str());
  return held;
}

void WarpBuilder::slabs(const std::vector<Operation*>& ops, Axis axis) {
  if (ops.empty()) return;
  owner_ = Owner::slab;
  slab_axis_ = axis;
  local_.clear();
  if (placement_.in_shares(phase_)) return compute_all(ops);
  int64_t columns = axis == Axis::key ? program_.getKeyDim() : program_.getValueDim();
  bool strips = placement_.in_strips(phase_);
  auto loop = create<warp::SlabsOp>(b_.getI64IntegerAttr(columns),
                                    strips ? b_.getI64IntegerAttr(placement_.slab_width(phase_, axis)) : IntegerAttr());
  OpBuilder::InsertionGuard guard(b_);
  column_ = begin_slab(loop);
  compute_all(ops);
}

void WarpBuilder::matrices(const std::vector<Operation*>& ops) {
  for (int warp = 0; warp < plan_.team_warps; ++warp) {
    std::vector<Operation*> own;
    for (Operation* op : ops)
      if (placement_.of(op).warp == warp) own.push_back(op);
    if (own.empty()) continue;
    auto on = create<warp::OnWarpOp>(warp);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&on.getBody().emplaceBlock());
    owner_ = Owner::matrix;
    warp_ = warp;
    local_.clear();
    compute_all(own);
  }
}

void WarpBuilder::rows(const std::vector<Operation*>& ops) {
  owner_ = Owner::rows;
  local_.clear();
  compute_all(ops);
}

// Outputs come last and together, so that they are stored in one go.
void WarpBuilder::compute_all(const std::vector<Operation*>& ops) {
  std::vector<std::pair<chunk::OutputOp, Value>> outputs;
  for (Operation* op : ops) {
    if (auto output = dyn_cast<chunk::OutputOp>(op))
      outputs.emplace_back(output, Value());
    else
      compute(op);
  }
  for (auto& [output, x] : outputs) x = times_unit(output.getX());
  for (auto& [output, x] : outputs) store(output, x);
}

}  // namespace wkvc
