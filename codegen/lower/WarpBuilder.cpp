#include "codegen/lower/WarpBuilder.h"

#include "codegen/ir/Text.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

bool has_bound(chunk::RoundOp op) { return op.getBound() && !op.getBound()->empty(); }
bool has_own_scale(chunk::RoundOp op) { return op.getBound() && op.getBound()->empty(); }

}  // namespace

WarpBuilder::WarpBuilder(chunk::ProgramOp program, OpBuilder& builder, int warps)
    : program_(program), b_(builder), warps_(warps), placement_(program, warps) {}

//===- Shared memory ---------------------------------------------------------------------------------------------===//

MemRefType WarpBuilder::shared_type(int64_t rows, int64_t columns, Type element) const {
  return MemRefType::get({rows, columns}, element, MemRefLayoutAttrInterface(),
                         b_.getI64IntegerAttr(warp::kSharedSpace));
}

SharedBuffer* WarpBuilder::reserve(const std::string& name, std::int64_t bytes, int from, int to) {
  return &spaces_.emplace_back(SharedBuffer{name, bytes, from, to, -1});
}

void WarpBuilder::plan_buffers() {
  plan_rings();
  plan_maxima();
  plan_values();
  std::vector<SharedBuffer*> all;
  for (SharedBuffer& space : spaces_) all.push_back(&space);
  total_ = allocate(all);
}

std::string WarpBuilder::shared_map() const { return map_of({spaces_.begin(), spaces_.end()}); }

void WarpBuilder::plan_rings() {
  for (auto input : program_.getBody().getOps<chunk::InputOp>()) {
    Value value = input.getResult();
    MemRefType type = shared_type(chunk::rows(value), chunk::columns(value), chunk::element(value));
    auto* space = reserve(input.getSym().str() + "_ring", kStages * warp::shared_bytes(type), 0, placement_.phases());
    rings_[value] = {space, nullptr, type, {}};
  }
}

void WarpBuilder::plan_maxima() {
  auto type =
      MemRefType::get({warps_}, b_.getF32Type(), MemRefLayoutAttrInterface(), b_.getI64IntegerAttr(warp::kSharedSpace));
  for (auto round : program_.getBody().getOps<chunk::RoundOp>()) {
    if (!has_bound(round)) continue;
    for (auto name : round.getBound()->getAsValueRange<StringAttr>()) {
      PlannedBuffer& maximum = maxima_[name.str()];
      if (maximum.space) continue;
      // Written before the barrier that begins a chunk, read after it, so it outlives the last phase.
      maximum = {reserve(name.str() + "_max", warp::shared_bytes(type), 0, placement_.phases()), nullptr, type, {}};
    }
  }
}

void WarpBuilder::plan_values() {
  for (Operation& op : program_.getBody().front()) {
    if (op.getNumResults() == 0) continue;
    Value value = op.getResult(0);
    const Place& place = placement_.of(value);
    if (!place.shared) continue;
    std::string name = name_of(value).empty() ? "x" : name_of(value).str();
    PlannedBuffer buffer;
    if (chunk::rows(value) == 1)
      buffer.type = MemRefType::get({chunk::columns(value)}, b_.getF32Type(), MemRefLayoutAttrInterface(),
                                    b_.getI64IntegerAttr(warp::kSharedSpace));
    else
      buffer.type = shared_type(chunk::rows(value), chunk::columns(value), chunk::element(value));
    buffer.space = reserve(name, warp::shared_bytes(buffer.type), place.phase, place.last_phase);
    if (auto round = dyn_cast<chunk::RoundOp>(&op); round && has_own_scale(round))
      buffer.scale = reserve(name + "_scale", sizeof(float), place.phase, place.last_phase);
    buffers_[value] = buffer;
  }
}

void WarpBuilder::declare_buffers() {
  for (auto& [value, ring] : rings_) {
    auto input = cast<chunk::InputOp>(value.getDefiningOp());
    ring.value = create<warp::RingOp>(ring.type, input.getSym(), ring.space->offset, kStages);
    set_name(ring.value, ring.space->name);
  }
  for (auto& [name, buffer] : maxima_) {
    buffer.value = create<warp::FloatsOp>(buffer.type, buffer.space->offset, buffer.space->from, buffer.space->to);
    set_name(buffer.value, buffer.space->name);
  }
  for (auto& [value, buffer] : buffers_) {
    const SharedBuffer& space = *buffer.space;
    if (buffer.type.getRank() == 1) {
      buffer.value = create<warp::FloatsOp>(buffer.type, space.offset, space.from, space.to);
    } else {
      auto scale = buffer.scale ? b_.getI64IntegerAttr(buffer.scale->offset) : IntegerAttr();
      buffer.value = create<warp::BufferOp>(buffer.type, b_.getI64IntegerAttr(space.offset), scale,
                                            b_.getI64IntegerAttr(space.from), b_.getI64IntegerAttr(space.to));
    }
    set_name(buffer.value, space.name + "_shared");
  }
}

//===- Inputs ----------------------------------------------------------------------------------------------------===//

void WarpBuilder::start_copies() {
  for (int ahead = 0; ahead < kStages - 1; ++ahead) {
    for (auto& [value, ring] : rings_) create<warp::CopyOp>(ring.value, ahead);
    create<warp::CommitCopiesOp>();
  }
}

void WarpBuilder::begin_chunk() {
  create<warp::WaitCopiesOp>(kStages - 2);
  for (auto& [value, ring] : rings_) {
    auto input = cast<chunk::InputOp>(value.getDefiningOp());
    current_[value] = create<warp::CurrentOp>(ring.type, ring.value);
    set_name(current_[value], (input.getSym() + "_raw").str());
    if (auto it = maxima_.find(input.getSym().str()); it != maxima_.end())
      create<warp::PublishMaxOp>(current_[value], it->second.value);
  }
  create<warp::BarrierOp>();
  for (auto& [value, ring] : rings_) create<warp::CopyOp>(ring.value, kStages - 1);
  create<warp::CommitCopiesOp>();
  for (auto round : program_.getBody().getOps<chunk::RoundOp>()) {
    if (!has_bound(round)) continue;
    llvm::SmallVector<Value> slots;
    for (auto name : round.getBound()->getAsValueRange<StringAttr>()) slots.push_back(maxima_.at(name.str()).value);
    Value scale = create<warp::ScaleForOp>(b_.getF32Type(), slots, round.getFactorAttr());
    std::string name = name_of(round.getResult()).str();
    for (auto input : round.getBound()->getAsValueRange<StringAttr>()) name = name.empty() ? input.str() : name;
    set_name(scale, name + "_scale");
    scales_[round.getResult()] = scale;
  }
}

//===- Phases ----------------------------------------------------------------------------------------------------===//

void WarpBuilder::phase(int number) {
  std::vector<Operation*> slab_ops, matrix_ops, row_ops;
  for (Operation& op : program_.getBody().front()) {
    bool source = op.getNumResults() && is_source(op.getResult(0));
    const Place& place = placement_.of(&op);
    if (source || place.phase != number) continue;
    if (place.owner == Owner::slab) slab_ops.push_back(&op);
    if (place.owner == Owner::matrix) matrix_ops.push_back(&op);
    if (place.owner == Owner::rows) row_ops.push_back(&op);
  }
  if (number) create<warp::BarrierOp>();
  if (!slab_ops.empty()) slabs(slab_ops);
  if (!matrix_ops.empty()) matrices(matrix_ops);
  rows(row_ops);
}

void WarpBuilder::slabs(const std::vector<Operation*>& ops) {
  auto loop = create<warp::SlabsOp>(program_.getKeyDim());
  OpBuilder::InsertionGuard guard(b_);
  Block& block = loop.getBody().emplaceBlock();
  column_ = block.addArgument(b_.getIndexType(), program_.getLoc());
  set_name(column_, "column");
  b_.setInsertionPointToEnd(&block);
  owner_ = Owner::slab;
  local_.clear();
  for (Operation* op : ops) compute(op);
}

void WarpBuilder::matrices(const std::vector<Operation*>& ops) {
  for (int warp = 0; warp < warps_; ++warp) {
    std::vector<Operation*> own;
    for (Operation* op : ops)
      if (placement_.of(op).warp == warp) own.push_back(op);
    if (own.empty()) continue;
    auto on = create<warp::OnWarpOp>(warp);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(&on.getBody().emplaceBlock());
    owner_ = Owner::matrix;
    local_.clear();
    for (Operation* op : own) compute(op);
  }
}

void WarpBuilder::rows(const std::vector<Operation*>& ops) {
  owner_ = Owner::rows;
  local_.clear();
  for (Operation* op : ops) compute(op);
}

//===- One operation ---------------------------------------------------------------------------------------------===//

VectorType WarpBuilder::type_of(Value value) const {
  int64_t r = chunk::rows(value), c = chunk::columns(value);
  const Place& place = placement_.of(value);
  Space space = placement_.space(value);
  if (place.owner == Owner::slab) c = 16;
  if (space.rows == Axis::value) r = 16;
  if (space.columns == Axis::value) {
    c = 16;
    if (place.transposed) std::swap(r, c);
  }
  return VectorType::get({r, c}, chunk::element(value));
}

Value WarpBuilder::call(llvm::StringRef function, ValueRange x, Type type, std::optional<float> constant) {
  return create<warp::CallOp>(type, function, x, constant ? b_.getF32FloatAttr(*constant) : FloatAttr());
}

Value WarpBuilder::shared_tile(Value value) {
  if (auto it = current_.find(value); it != current_.end()) return it->second;
  if (auto it = buffers_.find(value); it != buffers_.end()) return it->second.value;
  internal_error("'{}' is not in shared memory", name_of(value).str());
}

Value WarpBuilder::tile(Value value) {
  if (auto found = local_.lookup(value)) return found;
  if (auto found = registers_.lookup(value)) return found;
  if (isa<chunk::StateOp>(value.getDefiningOp())) return state_;
  VectorType type = type_of(value);
  Value result;
  if (auto parameter = value.getDefiningOp<chunk::ParameterOp>()) {
    auto row = VectorType::get(type.getShape(), b_.getF32Type());
    result = create<warp::ParameterOp>(row, parameter.getSym(), column_, type.getElementType());
  } else {
    Value shared = shared_tile(value);
    if (auto memref = cast<MemRefType>(shared.getType()); memref.getRank() == 1) {
      int64_t width = owner_ == Owner::slab ? 16 : memref.getDimSize(0);
      auto row = VectorType::get({1, width}, b_.getF32Type());
      result = create<warp::LoadRowOp>(row, shared, owner_ == Owner::slab ? column_ : Value());
    } else {
      bool own = placement_.space(value).columns == Axis::value;
      Value column = owner_ == Owner::slab ? column_ : Value();
      bool transposed = own && placement_.of(value).transposed;
      result = create<warp::LoadOp>(type, shared, column, own, transposed);
    }
  }
  set_name(result, name_of(value));
  (owner_ == Owner::rows ? registers_ : local_)[value] = result;
  return result;
}

Value WarpBuilder::scale_of(Value value) { return scales_.lookup(value); }

Operand WarpBuilder::shared_operand(Value value) { return {shared_tile(value), scale_of(value)}; }

// The value as an operand whose tile (after an optional transposition by the reader) has the contraction in its
// columns.
Operand WarpBuilder::operand(Value value, bool contracts_columns) {
  const Place& place = placement_.of(value);
  bool in_rows = place.owner == Owner::rows || placement_.space(value).columns == Axis::value;
  if (owner_ != Owner::rows || !in_rows) return shared_operand(value);
  if (contracts_columns == place.transposed && placement_.space(value).rows == Axis::token)
    internal_error("'{}' is held in the wrong orientation", name_of(value).str());
  return {tile(value), {}};  // a register tile carries its scale
}

Value WarpBuilder::dot(chunk::DotOp op, Value accumulator) {
  Operand x = operand(op.getX(), op.getXDim() == 1), y = operand(op.getY(), op.getYDim() == 1);
  bool x_shared = isa<MemRefType>(x.tile.getType()), y_shared = isa<MemRefType>(y.tile.getType());
  bool x_transposed = x_shared && op.getXDim() == 0, y_transposed = y_shared && op.getYDim() == 0;
  if (!accumulator) accumulator = create<warp::ZerosOp>(type_of(op.getResult()));
  if (placement_.of(op.getResult()).transposed) {
    std::swap(x, y);
    std::swap(x_transposed, y_transposed);
  }
  return create<warp::MmaOp>(accumulator.getType(), accumulator, x.tile, y.tile, x.scale, y.scale, x_transposed,
                             y_transposed);
}

Value WarpBuilder::round(chunk::RoundOp op) {
  Value scale = has_bound(op) ? scale_of(op.getResult()) : Value();
  return create<warp::RoundOp>(type_of(op.getResult()), tile(op.getX()), scale, has_own_scale(op));
}

Value WarpBuilder::binary(Operation* op, const char* function) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  Type type = type_of(op->getResult(0));
  auto constant = [](Value v) { return v.getDefiningOp<chunk::ConstantOp>(); };
  bool multiplies = isa<chunk::MulOp>(op), subtracts = isa<chunk::SubOp>(op);
  if (auto c = constant(y)) {
    float number = static_cast<float>(c.getValue().convertToDouble());
    return call(multiplies ? "mul_constant" : "add_constant", tile(x), type, subtracts ? -number : number);
  }
  if (auto c = constant(x)) {
    Value rest = tile(y);
    if (subtracts) rest = call("neg", rest, rest.getType());
    return call(multiplies ? "mul_constant" : "add_constant", rest, type,
                static_cast<float>(c.getValue().convertToDouble()));
  }
  // The tile comes first, a row or column it is combined with second.
  if (!subtracts && chunk::rows(x) * chunk::columns(x) < chunk::rows(y) * chunk::columns(y)) std::swap(x, y);
  // A sum with a contraction that nothing else reads accumulates in place.
  if (auto product = y.getDefiningOp<chunk::DotOp>();
      isa<chunk::AddOp>(op) && product && local_.count(y) == 0 && registers_.count(y) == 0 && y.hasOneUse())
    return dot(product, tile(x));
  return call(function, {tile(x), tile(y)}, type);
}

void WarpBuilder::compute(Operation* op) {
  if (auto update = dyn_cast<chunk::UpdateOp>(op)) {
    next_ = tile(update.getX());
    return;
  }
  if (auto output = dyn_cast<chunk::OutputOp>(op)) {
    Type element = rec::mlir_type(*dtype_from(output.getDtype().str()), op->getContext());
    create<warp::StoreOutputOp>(output.getSym(), tile(output.getX()), element, placement_.of(output.getX()).transposed);
    return;
  }
  Value value = op->getResult(0), result;
  Type type = type_of(value);
  auto unary = [&] { return call(op->getName().stripDialect(), tile(op->getOperand(0)), type); };
  if (auto product = dyn_cast<chunk::DotOp>(op)) {
    // Left to the sum that is its only reader, if that comes in the same place and phase.
    Operation* user = value.hasOneUse() ? *value.user_begin() : nullptr;
    bool accumulates = isa_and_nonnull<chunk::AddOp>(user) && user->getOperand(1) == value &&
                       placement_.of(user).phase == placement_.of(op).phase &&
                       !isa<chunk::ConstantOp>(user->getOperand(0).getDefiningOp()) &&
                       type_of(user->getOperand(0)) == type;
    if (accumulates) return;
    result = dot(product, {});
  } else if (auto rounded = dyn_cast<chunk::RoundOp>(op)) {
    result = round(rounded);
  } else if (isa<chunk::WidenOp>(op)) {
    Value x = tile(op->getOperand(0));
    result = cast<VectorType>(x.getType()).getElementType().isF32() ? x : call("widen", x, type);
  } else if (auto row = dyn_cast<chunk::RowOp>(op)) {
    result = call("row", tile(row.getX()), type, static_cast<float>(row.getIndex()));
  } else if (auto bound = dyn_cast<chunk::AtLeastOp>(op)) {
    result = call("maximum", tile(bound.getX()), type, bound.getBound().convertToFloat());
  } else if (auto tril = dyn_cast<chunk::TrilOp>(op)) {
    result = call(tril.getStrict() ? "tril_strict" : "tril", tile(tril.getX()), type);
  } else if (auto inverse = dyn_cast<chunk::UnitLowerInverseOp>(op)) {
    result = call(("unit_lower_inverse_" + inverse.getDtype()).str(), tile(inverse.getX()), type);
  } else if (auto diagonal = dyn_cast<chunk::DiagonalDotOp>(op)) {
    result = call("diagonal_dot", {shared_tile(diagonal.getX()), shared_tile(diagonal.getY())}, type);
  } else if (auto pair = dyn_cast<chunk::DecayedDotOp>(op)) {
    llvm::SmallVector<Value> x;
    for (Value v : op->getOperands()) x.push_back(shared_tile(v));
    result = call(pair.getStrict() ? "decayed_dot_strict" : "decayed_dot", x, type);
  } else if (isa<chunk::AddOp>(op)) {
    result = binary(op, "add");
  } else if (isa<chunk::SubOp>(op)) {
    result = binary(op, "sub");
  } else if (isa<chunk::MulOp>(op)) {
    result = binary(op, "mul");
  } else {
    result = unary();
  }
  if (name_of(result).empty()) set_name(result, name_of(value));
  (owner_ == Owner::rows ? registers_ : local_)[value] = result;
  if (placement_.of(value).shared) publish(value);
}

void WarpBuilder::publish(Value value) {
  const PlannedBuffer& buffer = buffers_.find(value)->second;
  Value x = tile(value);
  if (buffer.type.getRank() == 1)
    create<warp::StoreRowOp>(x, buffer.value, column_);
  else
    create<warp::StoreOp>(x, buffer.value, owner_ == Owner::slab ? column_ : Value());
}

}  // namespace wkvc
