#include "codegen/passes/warp/WarpBuilder.h"

#include <llvm/ADT/TypeSwitch.h>

#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/passes/chunk/Plain.h"
#include "codegen/passes/place/Roundings.h"
#include "codegen/passes/warp/TensorList.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

WarpBuilder::WarpBuilder(const PlacedProgram& of, OpBuilder& builder, const Plan& plan, Type saved)
    : of_(of),
      program_(of.program),
      placement_(of.placement),
      b_(builder),
      plan_(plan),
      buffers_(of, builder),
      copies_(of, buffers_, builder, saved) {
  last_decay_ = find_last_decay();
}

//===- Inputs ----------------------------------------------------------------------------------------------------===//

static bool anyone(Operation*) { return true; }

// The tiles of the current chunk that some of these operations read.
void WarpBuilder::begin_inputs(llvm::function_ref<bool(Operation*)> readers) {
  registers_.clear();
  brought_.clear();
  for (auto& [value, ring] : of_.shared.rings()) {
    auto input = cast<chunk::InputOp>(value.getDefiningOp());
    bool for_scale = value.use_empty() && buffers_.maximum(input.getSym());
    if (!for_scale && !llvm::any_of(value.getUsers(), readers)) continue;
    current_[value] = create<warp::CurrentOp>(ring.type, buffers_.value(ring));
    set_name(current_[value], (input.getSym() + "_raw").str());
  }
}

void WarpBuilder::publish_inputs(llvm::function_ref<bool(const PlannedBuffer&)> rings) {
  for (auto& [value, ring] : of_.shared.rings()) {
    if (!rings(ring)) continue;
    auto input = cast<chunk::InputOp>(value.getDefiningOp());
    if (Value slots = buffers_.maximum(input.getSym())) create<warp::PublishMaxOp>(current_[value], slots);
  }
}

void WarpBuilder::begin_chunk() {
  begin_inputs(anyone);
  publish_inputs([](auto&) { return true; });
  create<warp::BarrierOp>(refuses_early(program_));
  if (!copies_.deep_phase()) copies_.start_later(2);
  create_scales(/*of_states=*/false, anyone);
  create_own_scales();
}

void WarpBuilder::set_state(Value tile, bool with_scale) {
  state_ = tile;
  if (with_scale) scaled_.insert(tile);
}

//===- Phases ----------------------------------------------------------------------------------------------------===//

void WarpBuilder::phase(int number) {
  phase_ = number;
  if (number) create<warp::BarrierOp>();
  if (number == 1) {
    copies_.start_later(1);
    create_scales(/*of_states=*/true, anyone);
  }
  slabs(placement_.ops_of(Owner::slab, number));
  matrices(placement_.ops_of(Owner::matrix, number));
  if (number == copies_.deep_phase()) copies_.start_later(2);
  rows(placement_.ops_of(Owner::rows, number));
  if (number == 0) {
    publish_state(/*saved=*/true);
    publish_state(/*saved=*/false);
  }
}

void WarpBuilder::prepare_round(llvm::function_ref<void()> when_read) {
  load_tokens();
  if (plan_.rounds > 1) {
    create<warp::ClaimOp>(refuses_early(program_));
    copies_.start_late(0);
  }
  wait_for_round();
  prepare_chunk(when_read);
  for (auto& [input, x] : std::exchange(tokens_, {}))
    if (x.use_empty()) x.getDefiningOp()->erase();
}

void WarpBuilder::load_tokens() {
  owner_ = Owner::matrix;
  for (auto input : program_.getBody().getOps<chunk::InputOp>()) {
    if (chunk::columns(input.getResult()) != 1 || has_unit(input)) continue;
    Value x = loaded(input);
    set_name(x, input.getSym());
    tokens_[input] = x;
  }
}

void WarpBuilder::prepare_chunk(llvm::function_ref<void()> when_read) {
  auto prepares = [&](Operation* op) { return placement_.of(op).owner != Owner::rows; };
  const bool early = copies_.has_early();
  auto copy_early = [&] { copies_.start_early(plan_.round_chunks()); };
  if (!when_read && early) when_read = copy_early;
  begin_inputs(anyone);
  publish_inputs([&](auto& ring) { return ring.early == early; });
  create<warp::BarrierOp>();
  create_scales(/*of_states=*/false, prepares);
  for (phase_ = 0; phase_ < placement_.first_of_rows(); ++phase_) {
    auto slab_ops = placement_.ops_of(Owner::slab, phase_), matrix_ops = placement_.ops_of(Owner::matrix, phase_);
    if (phase_ && !(slab_ops.empty() && matrix_ops.empty())) create<warp::BarrierOp>();
    if (phase_ == 1 && of_.has_second_phase() && when_read) when_read();
    slabs(slab_ops);
    matrices(matrix_ops);
  }
  if (when_read && !of_.has_second_phase()) {
    create<warp::BarrierOp>();
    when_read();
  }
  if (early && copies_.has_late()) {
    create<warp::WaitCopiesOp>(1);
    publish_inputs([](auto& ring) { return !ring.early; });
    // The warp that reads these maxima for its numbers may have published them: its lanes meet where it stores scales.
    auto reader = of_.sums.empty() ? std::nullopt : number_warp();
    if (reader &&
        llvm::any_of(of_.shared.rings(), [&](auto& ring) { return !ring.second.early && ring.second.warp != *reader; }))
      create<warp::BarrierOp>();
  }
  store_numbers();
}

// Late copies of the last round may still be under way.
void WarpBuilder::wait_for_round() { create<warp::WaitCopiesOp>(copies_.has_early() && copies_.has_late() ? 1 : 0); }

// What was made of a state that was taken before is in shared memory.
void WarpBuilder::take_state(bool saved) {
  phase_ = placement_.first_after_rows() - 1;
  if (saved) phase_ = placement_.first_of_rows();
  auto of_rows = [&](Operation* op) { return placement_.of(op).owner == Owner::rows; };
  auto takes = [&](Operation* op) { return of_rows(op) && placement_.of(op).phase == phase_; };
  taken_ = sum_scales_of(state_of(saved));
  begin_inputs(of_rows);
  publish_state(saved);
  if (shares_maximum(saved)) create<warp::BarrierOp>();
  load_numbers();
  // Where the state's scale is shared, only what is rounded here for others, too, takes one of inputs.
  create_scales(/*of_states=*/false,
                [&](Operation* op) { return taken_ ? takes(op) && taken_->brought.contains(op) : of_rows(op); });
  create_scales(/*of_states=*/true, takes);
  create_own_scales();
  owner_ = Owner::rows;
  if (taken_) round_state();
  auto ops = placement_.ops_of(Owner::rows, phase_);
  llvm::erase_if(ops, [&](Operation* op) { return op->getNumResults() && registers_.contains(op->getResult(0)); });
  if (saved) {
    const auto of_next = ops_of_next();
    auto first_of_next = std::stable_partition(ops.begin(), ops.end(), [&](auto op) { return !of_next.contains(op); });
    rows({ops.begin(), first_of_next});
    leave_scales();
    create<warp::EndLastOp>();
    rows({first_of_next, ops.end()});
  } else {
    rows(ops);
    leave_scales();
  }
  erase_unread();
  taken_ = nullptr;
}

// What only the saved state after the chunk is made of.
llvm::DenseSet<Operation*> WarpBuilder::ops_of_next() {
  llvm::DenseSet<Operation*> ops;
  for (Operation& op : llvm::reverse(program_.getBody().front()))
    if (isa<chunk::UpdateSavedOp>(op) ||
        (!op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation* user) { return ops.contains(user); })))
      ops.insert(&op);
  return ops;
}

void WarpBuilder::finish_chunk() {
  auto finishes = [&](Operation* op) { return placement_.of(op).phase >= placement_.first_after_rows(); };
  phase_ = placement_.first_after_rows();
  begin_inputs(anyone);
  load_numbers();
  create_scales(/*of_states=*/false, finishes);
  create_scales(/*of_states=*/true, finishes);
  if (placement_.in_shares(phase_)) begin_share();
  for (; phase_ < placement_.phases(); ++phase_) {
    if (phase_ > placement_.first_after_rows()) create<warp::BarrierOp>();
    if (phase_ + 1 == placement_.phases() && of_.shared.copies_last()) copies_.start_late(plan_.round_chunks());
    slabs(placement_.ops_of(Owner::slab, phase_));
    matrices(placement_.ops_of(Owner::matrix, phase_));
  }
  erase_unread();
}

// Which tiles and scales a region reads is known when it is there.
void WarpBuilder::erase_unread() {
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(*b_.getInsertionBlock())))
    if (isa<warp::CurrentOp, warp::ScaleForOp, warp::LoadNumberOp>(op) && op.use_empty()) op.erase();
}

// The first column, for operations that are built next.
Value WarpBuilder::begin_slab(warp::SlabsOp loop) {
  Block& block = loop.getBody().emplaceBlock();
  Value column = block.addArgument(b_.getIndexType(), program_.getLoc());
  set_name(column, "column");
  b_.setInsertionPointToEnd(&block);
  return column;
}

// What operands and exponentials that were made another way have left.
static void erase_unused(Block& block) {
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && isa<warp::CallOp, warp::LoadOp>(op)) op.erase();
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
  last_factors_.clear();
  if (placement_.in_shares(phase_)) return compute_all(ops);
  int64_t columns = axis == Axis::key ? program_.getKeyDim() : program_.getValueDim();
  bool strips = placement_.in_strips(phase_);
  auto loop = create<warp::SlabsOp>(b_.getI64IntegerAttr(columns),
                                    strips ? b_.getI64IntegerAttr(placement_.slab_width(phase_, axis)) : IntegerAttr());
  OpBuilder::InsertionGuard guard(b_);
  column_ = begin_slab(loop);
  over_.clear();
  compute_all(ops);
  if (loop.getStrips()) erase_unused(loop.getBody().front());
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

//===- One operation ---------------------------------------------------------------------------------------------===//

// One number for each token.
bool WarpBuilder::is_column_vector(Value value) const {
  Space space = placement_.space(value);
  return space.rows == Axis::token && space.columns == Axis::one;
}

// As operands of value rows do.
bool WarpBuilder::lies_transposed(Value value) const {
  return owner_ == Owner::rows && placement_.space(value).columns == Axis::value;
}

VectorType WarpBuilder::type_of(Value value) const {
  int64_t r = chunk::rows(value), c = chunk::columns(value);
  Space space = placement_.space(value);
  // Beside tiles of value rows × tokens the tokens lie in a row.
  if (is_column_vector(value) && owner_ == Owner::rows) std::swap(r, c);
  if (space.rows == Axis::value) r = 16;
  if (owner_ == Owner::slab && space.columns == slab_axis_) {
    c = placement_.slab_width(phase_, slab_axis_);
  } else if (space.columns == Axis::value) {
    c = 16;
    if (lies_transposed(value)) std::swap(r, c);
  }
  return VectorType::get({r, c}, chunk::element(value));
}

// What there is of sums that carry a scale; of C×C matrices all terms have the same one.
bool WarpBuilder::keeps_scale(llvm::StringRef function, ValueRange x) const {
  if (function == "mul") return carries_scale(x[0]) && cast<VectorType>(x[1].getType()).getDimSize(0) == 1;
  return owner_ == Owner::matrix && llvm::is_contained({"tril", "tril_strict", "level_pairs", "add"}, function) &&
         llvm::all_of(x, [&](Value operand) { return carries_scale(operand); });
}

Value WarpBuilder::call(llvm::StringRef function, ValueRange x, Type type, std::optional<float> constant) {
  auto carries = [&](Value operand) { return carries_scale(operand); };
  llvm::SmallVector<Value> operands(x);
  const bool keeps = llvm::any_of(x, carries) && keeps_scale(function, x);
  if (!keeps)
    for (Value& operand : operands)
      if (carries(operand)) operand = create<warp::WithoutScaleOp>(operand);
  Value result = create<warp::CallOp>(type, function, operands, constant ? b_.getF32FloatAttr(*constant) : FloatAttr());
  if (keeps) scaled_.insert(result);
  return result;
}

bool WarpBuilder::is_computed(Value value) const {
  return local_.contains(value) || registers_.contains(value) || of_.shared.find(value);
}

Value WarpBuilder::shared_tile(Value value) {
  if (auto it = current_.find(value); it != current_.end()) return it->second;
  if (Value shared = buffers_.find(value)) return shared;
  internal_error("'{}' is not in shared memory", name_of(value).str());
}

Value WarpBuilder::tile(Value value) {
  if (auto found = current_registers().lookup(value)) return found;
  if (Value early = owner_ == Owner::matrix ? tokens_.lookup(value) : Value()) return early;
  if (auto held = owner_ == Owner::slab && is_source(value) ? held_.lookup(value) : Value()) return held;
  if (auto round = placement_.stand_in(value, phase_)) return current_registers()[value] = widened(round.getResult());
  Operation* op = value.getDefiningOp();
  const ValuePlace& place = placement_.of(value);
  bool again = !is_source(value) && !of_.shared.find(value) && (place.owner == Owner::anyone || place.owner == owner_);
  if (again) {
    compute(op);
    return tile(value);
  }
  Value result = loaded(value);
  set_name(result, name_of(value));
  current_registers()[value] = result;
  return result;
}

// Where a value goes when it is computed: with what lasts for the chunk, or with what ends with a slab or a matrix.
WarpBuilder::Registers& WarpBuilder::current_registers() { return owner_ == Owner::rows ? registers_ : local_; }

Value WarpBuilder::filled(chunk::ConstantOp op, VectorType type) {
  if (!op.getDims())
    user_error_at(op, "'{}': a number alone can't be an operand here; compute it beforehand",
                  program_.getRecurrence().str());
  Value zeros = create<warp::ZerosOp>(type);
  if (op.getValue().isZero()) return zeros;
  return call("add_constant", zeros, type, static_cast<float>(op.getValue().convertToDouble()));
}

// What lies in shared or global memory, gradients of 16 bits in no unit yet.
Value WarpBuilder::loaded(Value value) {
  VectorType type = type_of(value);
  auto f32 = VectorType::get(type.getShape(), b_.getF32Type());
  bool slab = owner_ == Owner::slab && placement_.space(value).columns == slab_axis_;
  Value column = slab ? column_ : Value();
  if (auto parameter = value.getDefiningOp<chunk::ParameterOp>())
    return create<warp::ParameterOp>(f32, parameter.getSym(), column, type.getElementType());
  if (auto input = value.getDefiningOp<chunk::InputOp>(); input && chunk::columns(value) == 1)
    return over_unit(value, create<warp::TokensOp>(f32, input.getSym(), type.getElementType()));
  if (auto constant = value.getDefiningOp<chunk::ConstantOp>()) return filled(constant, f32);
  Value shared = shared_tile(value);
  if (cast<MemRefType>(shared.getType()).getRank() == 1) {
    int64_t parts = cast<MemRefType>(shared.getType()).getDimSize(0) / (chunk::rows(value) * chunk::columns(value));
    return create<warp::LoadVectorOp>(f32, shared, column,
                                      is_partial(value) ? b_.getI64IntegerAttr(parts) : IntegerAttr(), StringAttr());
  }
  bool own = !slab && placement_.space(value).columns == Axis::value;
  bool own_rows = owner_ == Owner::rows && placement_.space(value).rows == Axis::value;
  Value x = create<warp::LoadOp>(type, shared, column, own, lies_transposed(value), own_rows);
  return chunk::element(value).isF32() ? over_unit(value, x) : x;
}

Value WarpBuilder::scale_of(Value value) { return scales_.lookup(value); }

// An operand in the scale in which the state takes it; null if it takes it as it is.
Value WarpBuilder::brought(Value operand) {
  auto round = operand.getDefiningOp<chunk::RoundOp>();
  auto other = taken_ && round ? taken_->brought.lookup(round) : chunk::RoundOp();
  if (!other) return {};
  Value& found = brought_[operand];
  if (!found) {
    Value x = tile(operand), scale = x.getDefiningOp<warp::LoadOp>() ? scale_of(operand) : Value();
    found = create<warp::RoundBesideOp>(x.getType(), x, scale, state_operand_, known_scale(other));
  }
  return found;
}

Value WarpBuilder::round(chunk::RoundOp op) {
  if (owner_ == Owner::slab && placement_.in_strips(phase_) && has_bound(op))
    if (Value over = over_scale(op.getX(), scale_of(op.getResult())))
      return create<warp::RoundOp>(type_of(op.getResult()), over, Value(), Value(), Value(), false, false, false);
  Value x = tile(op.getX()), scale;
  bool as_is = is_as_is(op), in_scale = carries_scale(x) && !as_is && !(taken_ && taken_->brought.contains(op));
  if (auto other = taken_ ? taken_->beside.lookup(op) : chunk::RoundOp())
    return create<warp::RoundBesideOp>(type_of(op.getResult()), x, Value(), state_operand_, known_scale(other));
  if (has_bound(op) && !in_scale && !as_is) scale = scale_of(op.getResult());
  if (in_scale) rounded_.insert(x);
  bool fits = in_scale && taken_;
  return create<warp::RoundOp>(type_of(op.getResult()), x, scale, fits ? slope_ : Value(), fits ? offset_ : Value(),
                               has_own_scale(op) && !as_is, in_scale, as_is);
}

chunk::ConstantOp number(Value x) {
  auto constant = x.getDefiningOp<chunk::ConstantOp>();
  return constant && !constant.getDims() ? constant : chunk::ConstantOp();
}

Value WarpBuilder::binary(Operation* op, const char* function) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  Type type = type_of(op->getResult(0));
  bool multiplies = isa<chunk::MulOp>(op), subtracts = isa<chunk::SubOp>(op);
  if (auto c = number(y)) {
    float constant = static_cast<float>(c.getValue().convertToDouble());
    return call(multiplies ? "mul_constant" : "add_constant", tile(x), type, subtracts ? -constant : constant);
  }
  if (auto c = number(x)) {
    Value rest = tile(y);
    if (subtracts) rest = call("neg", rest, rest.getType());
    return call(multiplies ? "mul_constant" : "add_constant", rest, type,
                static_cast<float>(c.getValue().convertToDouble()));
  }
  if (Value product = accumulated(op); product && !is_computed(product))
    return dot(product.getDefiningOp<chunk::DotOp>(), tile(product == y ? x : y));
  if (auto dots = dots_beside_rows(op)) {
    auto rows = (dots.getResult() == x ? y : x).getDefiningOp<chunk::SumRowsOp>();
    return column_dots(dots, tile(rows.getX()));
  }
  // The tile comes first, a row or column it is combined with second.
  if (!subtracts && chunk::rows(x) * chunk::columns(x) < chunk::rows(y) * chunk::columns(y)) std::swap(x, y);
  Value a = tile(x), b = tile(y);
  // A row beside a column makes a tile.
  if (a.getType() != type && b.getType() != type) a = call("add", {create<warp::ZerosOp>(type), a}, type);
  return call(function, {a, b}, type);
}

void WarpBuilder::store(chunk::OutputOp op, Value x) {
  const DType dtype = op.isSummed() ? DType::f32 : *dtype_from(op.getDtype().str());
  Type element = rec::mlir_type(dtype, op->getContext());
  if (carries_scale(x)) x = create<warp::WithoutScaleOp>(x);
  if (op.getKept())
    create<warp::StoreMatrixOp>(op.getSym(), x, element);
  else if (is_column_vector(op.getX()))
    create<warp::StoreTokensOp>(stored_name(op), x, element);
  else
    create<warp::StoreOutputOp>(stored_name(op), x, element, owner_ == Owner::slab ? column_ : Value(),
                                lies_transposed(op.getX()));
}

void WarpBuilder::compute(Operation* op) {
  if (op == last_decay_) return;  // made with the update
  if (isa<chunk::UpdateOp>(op) && last_decay_) {
    next_ = create<warp::DecayingOp>(tile(last_decay_.getX()), tile(last_decay_.getY()));
    set_name(next_, name_of(last_decay_.getResult()));
  } else if (isa<chunk::UpdateOp, chunk::UpdateSavedOp>(op)) {
    next_ = tile(op->getOperand(0));
  } else if (auto sum = dyn_cast<chunk::AccumulateOp>(op)) {
    create<warp::AddVectorOp>(times_unit(sum.getX()), buffers_.sum(op), owner_ == Owner::slab ? column_ : Value());
  } else {
    Operation* user = op->hasOneUse() ? *op->user_begin() : nullptr;
    if (isa<chunk::DotOp>(op) && user && accumulated(user) == op->getResult(0)) return;
    if (isa<chunk::ColumnDotsOp, chunk::SumRowsOp>(op) && dots_beside_rows(user)) return;
    if (factor_going_out(op->getResult(0))) return;
    Value value = op->getResult(0), result = computed(op);
    if (name_of(result).empty()) set_name(result, name_of(value));
    // A part of a sum is not the sum: that is read once all parts are there.
    if (!is_partial(value)) current_registers()[value] = result;
    const ValuePlace& place = placement_.of(value);
    if (placement_.is_shared(value) && place.phase == phase_) publish(value, result);
  }
}

Value WarpBuilder::widened(Value operand) {
  Value x = tile(operand);
  auto type = cast<VectorType>(x.getType());
  if (type.getElementType().isF32()) return x;
  auto wide = VectorType::get(type.getShape(), b_.getF32Type());
  if (has_unit(operand)) return create<warp::WidenOverOp>(wide, x, unit_);
  auto round = operand.getDefiningOp<chunk::RoundOp>();
  if (!round || !round.getBound()) return call("widen", x, wide);
  // A tile that was rounded here, or whose scale lies beside it, carries it.
  bool carried = !isa<warp::LoadOp>(x.getDefiningOp()) || has_own_scale(round);
  return create<warp::WidenOp>(wide, x, carried ? Value() : scale_of(operand));
}

Value WarpBuilder::computed(Operation* op) {
  Value value = op->getResult(0);
  Type type = type_of(value);
  const bool tokens_in_columns = lies_transposed(value) || (owner_ == Owner::rows && is_column_vector(value));
  auto function = [&](llvm::StringRef name, std::optional<float> constant = {}) {
    return call(name, tile(op->getOperand(0)), type, constant);
  };
  auto level = [&](auto level_op) {
    llvm::SmallVector<Value> x;
    for (Value v : op->getOperands()) x.push_back(tile(v));
    return call(op->getName().stripDialect(), x, type, static_cast<float>(level_op.getHalf()));
  };
  auto strictly = [&](const char* name, bool strict) { return std::string(name) + (strict ? "_strict" : ""); };
  bool of_values = op->getNumOperands() && lies_transposed(op->getOperand(0));
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case([&](chunk::SavedStateOp) { return plan_.teams > 1 ? state_ : copies_.saved_state(copies_.load_saved()); })
      .Case([&](chunk::StateOp) { return state_; })
      .Case([&](chunk::DotOp x) { return dot(x, {}); })
      .Case([&](chunk::ColumnDotsOp x) { return column_dots(x); })
      .Case([&](chunk::RoundOp x) { return round(x); })
      .Case([&](chunk::WidenOp x) { return widened(x.getX()); })
      .Case([&](chunk::Exp2Op x) {
        Value result = exp2_beside(x);
        return result ? result : function("exp2");
      })
      .Case([&](chunk::KeepValidOp) { return function(tokens_in_columns ? "keep_valid_columns" : "keep_valid"); })
      .Case([&](chunk::CumsumOp x) {
        return function(
            fmt::format("{}{}cumsum", x.getReverse() ? "reverse_" : "", x.getExclusive() ? "exclusive_" : ""));
      })
      .Case([&](chunk::RowOp x) {
        Value row = function("row", static_cast<float>(x.getIndex()));
        return x.getAnchor() && is_causal() ? call("zero_if_nan", row, type) : row;
      })
      .Case([&](chunk::AtRowOp x) { return function("at_row", static_cast<float>(x.getIndex())); })
      // Value rows × tokens: the sum of all columns is one of the tile's rows, and the other way round.
      .Case([&](chunk::SumColumnsOp) { return function(of_values ? "sum_rows" : "sum_columns"); })
      .Case([&](chunk::SumRowsOp) { return function(of_values ? "sum_columns" : "sum_rows"); })
      .Case([&](chunk::DiagonalOp) { return function("diagonal_column"); })
      .Case([&](chunk::AtLeastOp x) { return function("maximum", x.getBound().convertToFloat()); })
      .Case([&](chunk::ExceedsOp x) { return function("greater_than", x.getBound().convertToFloat()); })
      .Case([&](chunk::NotBelowOp x) { return function("not_below", x.getBound().convertToFloat()); })
      .Case([&](chunk::TrilOp x) { return function(strictly("tril", x.getStrict())); })
      .Case([&](chunk::UnitLowerInverseOp x) -> Value {
        const llvm::StringRef mode = is_causal() ? "f32" : x.getDtype();
        return create<warp::UnitLowerInverseOp>(tile(x.getX()), buffers_.scratch(x), mode);
      })
      .Case([&](chunk::DiagonalDotOp x) {
        return call("diagonal_dot", {shared_tile(x.getX()), shared_tile(x.getY())}, type);
      })
      .Case<chunk::LastOfOtherHalfOp, chunk::SumOfOtherHalfOp, chunk::SelectHalvesOp, chunk::LevelPairsOp,
            chunk::UpperRowsOp, chunk::LowerRowsOp>(level)
      .Case([&](chunk::AddOp) { return binary(op, "add"); })
      .Case([&](chunk::SubOp) { return binary(op, "sub"); })
      .Case([&](chunk::MulOp x) -> Value {
        Value last = last_factor(x);
        if (!last) return binary(op, "mul");
        return call("mul", {tile(x.getX() == last ? x.getY() : x.getX()), factor_times_unit(last)}, type);
      })
      .Default([&](Operation*) { return function(op->getName().stripDialect()); });
}

// To shared memory, for another owner or a later phase.
void WarpBuilder::publish(Value value, Value x) {
  if (carries_scale(x)) x = create<warp::WithoutScaleOp>(x);
  Value shared = buffers_.find(value);
  Value column = owner_ == Owner::slab ? column_ : Value();
  Space space = placement_.space(value);
  if (cast<MemRefType>(shared.getType()).getRank() == 1) {
    bool part = is_partial(value);
    create<warp::StoreVectorOp>(x, shared, column, part);
  } else {
    bool rows = owner_ == Owner::rows;
    create<warp::StoreOp>(x, shared, column, rows && space.rows == Axis::value, rows && space.columns == Axis::value);
  }
}

//===- Sums over all chunks --------------------------------------------------------------------------------------===//

// Those over values first: each warp has its own rows of them. Those over keys are dealt in slabs.
template <class F>
void WarpBuilder::for_each_sum(F f) {
  auto each = [&](Owner owner, Value column) {
    for (auto& [op, buffer] : of_.shared.sums())
      if (placement_.of(op).owner == owner) f(cast<chunk::AccumulateOp>(op), buffers_.value(buffer), column);
  };
  each(Owner::rows, {});
  bool any = llvm::any_of(of_.shared.sums(), [&](auto& sum) { return placement_.of(sum.first).owner == Owner::slab; });
  if (!any) return;
  OpBuilder::InsertionGuard guard(b_);
  each(Owner::slab, begin_slab(create<warp::SlabsOp>(b_.getI64IntegerAttr(program_.getKeyDim()), IntegerAttr())));
}

void WarpBuilder::start_sums() {
  for_each_sum([&](chunk::AccumulateOp, Value sum, Value column) {
    Value zero = create<warp::ZerosOp>(VectorType::get({column ? 1 : 16, column ? 16 : 1}, b_.getF32Type()));
    set_name(zero, "zero");
    create<warp::StoreVectorOp>(zero, sum, column, /*part=*/!column);
  });
}

void WarpBuilder::end_sums() {
  for_each_sum(
      [&](chunk::AccumulateOp op, Value sum, Value column) { create<warp::StoreSumOp>(parts_name(op), sum, column); });
}

}  // namespace wkvc
