// The tensors of a kernel: which may be read and written where, and as what.
#include "codegen/ir/Text.h"
#include "codegen/warp/verify/Shapes.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

class TensorRules {
 public:
  TensorRules(KernelOp kernel, const Tensors& tensors) : kernel_(kernel), tensors_(tensors) {}

  LogicalResult verify_tensor(Operation* op) const {
    if (auto ring = dyn_cast<RingOp>(op))
      return expect_role(op, ring.getTensor(), {"input", "output_gradient", "kept"});
    if (auto store = dyn_cast<StoreMatrixOp>(op)) return expect_role(op, store.getTensor(), {"kept"});
    if (auto parameter = dyn_cast<ParameterOp>(op)) return expect_role(op, parameter.getTensor(), {"parameter"});
    if (auto load = dyn_cast<LoadStateOp>(op))
      return expect_role(
          op, load.getTensor(),
          {carries_segments() ? "workspace" : "initial_state", carries_segments() ? "" : "final_state_gradient"});
    if (auto store = dyn_cast<StoreStateOp>(op))
      return expect_role(
          op, store.getTensor(),
          {kernel_.getSummary() ? "workspace" : "final_state", kernel_.getSummary() ? "" : "initial_state_gradient"});
    if (auto store = dyn_cast<StoreOutputOp>(op))
      return expect_role(op, store.getTensor(), {"output", "input_gradient", "workspace"});
    if (auto store = dyn_cast<StoreTokensOp>(op))
      return expect_role(op, store.getTensor(), {"output", "input_gradient", "workspace"});
    if (auto load = dyn_cast<TokensOp>(op))
      return expect_role(op, load.getTensor(), {"input", "output_gradient", "parameter"});
    if (auto load = dyn_cast<LoadSavedOp>(op)) return expect_role(op, load.getTensor(), {"saved_states", "workspace"});
    if (auto copy = dyn_cast<CopySavedOp>(op)) {
      if (copy.getFirstFrom() && failed(expect_role(op, *copy.getFirstFrom(), {"saved_states"}))) return failure();
      if (copy.getNext()) return expect_role(op, copy.getTensor(), {"saved_states"});
      return expect_role(op, copy.getTensor(), {"saved_states", "workspace"});
    }
    if (auto keep = dyn_cast<KeepStateOp>(op)) return expect_role(op, keep.getTensor(), {"workspace"});
    if (auto save = dyn_cast<SaveStateOp>(op)) return expect_role(op, save.getTensor(), {"saved_states"});
    if (auto store = dyn_cast<StoreIntermediateOp>(op))
      return expect_role(op, store.getTensor(), {"intermediate_states"});
    if (auto store = dyn_cast<StoreSumOp>(op)) return expect_role(op, store.getTensor(), {"workspace"});
    if (auto only = dyn_cast<OnlyRefusedOp>(op)) return expect_refusals(op, only.getTensor());
    if (auto refuse = dyn_cast<RefuseOp>(op)) return expect_refusals(op, refuse.getTensor());
    if (auto expect = dyn_cast<ExpectOp>(op)) return verify_samples(expect);
    return success();
  }

  // Gradients of states and states of segments, sums and refusals are f32.
  LogicalResult verify_dtype(Operation* op) const {
    if (moves_stored_state(op)) return success();
    if (auto copy = dyn_cast<CopySavedOp>(op); copy && copy.getFirstFrom())
      if (failed(expect_dtype(op, *copy.getFirstFrom(), element_of(copy.getStaged())))) return failure();
    const Type moved = moved_by(op);
    return moved ? expect_dtype(op, op->getAttrOfType<StringAttr>("tensor").getValue(), moved) : success();
  }

  LogicalResult verify_extents(Operation* op) const {
    if (failed(verify_shared_extents(op)) || failed(verify_columns(op))) return failure();
    if (auto load = dyn_cast<LoadOp>(op); load && load.getOwnRows()) return expect_own_rows(op, load.getTile());
    if (auto store = dyn_cast<StoreOp>(op); store && store.getOwnRows()) return expect_own_rows(op, store.getTile());
    if (auto store = dyn_cast<StoreMatrixOp>(op))
      return expect_matrix(op, store.getTensor(), cast<TileType>(store.getX().getType()).getShape());
    if (auto store = dyn_cast<StoreOutputOp>(op))
      return expect_dims(op, store.getTensor(), store.getColumn() ? "B,T,H,K" : "B,T,H,V");
    if (auto store = dyn_cast<StoreTokensOp>(op)) return expect_dims(op, store.getTensor(), "B,T,H");
    if (auto load = dyn_cast<TokensOp>(op))
      return expect_dims(op, load.getTensor(), tensors_.roles.lookup(load.getTensor()) == "parameter" ? "H" : "B,T,H");
    return verify_state_extents(op);
  }

 private:
  // Of what lies in shared memory, and of the columns that warps share.
  LogicalResult verify_shared_extents(Operation* op) const {
    int64_t C = signed_value(kernel_.getChunk()), V = signed_value(kernel_.getValueDim());
    if (auto ring = dyn_cast<RingOp>(op)) {
      bool keys = tensors_.dims.lookup(ring.getTensor()).ends_with(",K");
      auto type = cast<TileType>(ring.getType());
      if (tensors_.roles.lookup(ring.getTensor()) == "kept")
        return expect_matrix(op, ring.getTensor(), type.getShape());
      if (failed(expect_dims(op, ring.getTensor(), keys ? "B,T,H,K" : "B,T,H,V"))) return failure();
      if (type.getShape() != llvm::ArrayRef<int64_t>{C, keys ? key_dim() : V})
        return op->emitOpError() << "holds chunks as " << type << "; expected " << C << "x" << (keys ? key_dim() : V);
    }
    if (auto staged = dyn_cast<StagedOp>(op)) {
      auto type = cast<TileType>(staged.getType());
      if (type.getShape() != llvm::ArrayRef<int64_t>{V, key_dim()})
        return op->emitOpError() << "holds states as " << type << "; expected " << V << "x" << key_dim();
    }
    if (auto slabs = dyn_cast<SlabsOp>(op))
      if (int64_t columns = signed_value(slabs.getColumns()); columns != key_dim() && columns != V)
        return op->emitOpError() << "is over " << columns << " columns; expected " << key_dim() << " keys or " << V
                                 << " values";
    if (auto share = dyn_cast<ShareOp>(op); share && columns_of(share) != key_dim())
      return op->emitOpError() << "of " << signed_value(share.getWidth()) << " columns for each of "
                               << team_warps(kernel_) << " warps makes " << columns_of(share) << "; expected "
                               << key_dim() << " keys";
    return success();
  }

  LogicalResult verify_state_extents(Operation* op) const {
    if (isa<LoadSavedOp>(op) && has_slots(kernel_) && failed(expect_state_of_rounds(op))) return failure();
    if (auto start = dyn_cast<StartSummaryOp>(op)) return expect_state(op, start.getResult());
    if (auto load = dyn_cast<LoadStateOp>(op)) {
      if (failed(expect_segments(op, load.getTensor()))) return failure();
      return expect_state(op, load.getResult());
    }
    if (auto store = dyn_cast<StoreStateOp>(op)) {
      if (failed(expect_segments(op, store.getTensor()))) return failure();
      return expect_state(op, store.getX());
    }
    if (auto load = dyn_cast<LoadSavedOp>(op)) return expect_state(op, load.getResult());
    if (auto load = dyn_cast<LoadStagedOp>(op)) return expect_state(op, load.getResult());
    if (auto stage = dyn_cast<StageStateOp>(op)) return expect_state(op, stage.getX());
    if (auto keep = dyn_cast<KeepStateOp>(op)) return expect_state(op, keep.getX());
    if (auto save = dyn_cast<SaveStateOp>(op)) return expect_state(op, save.getX());
    if (auto store = dyn_cast<StoreIntermediateOp>(op)) {
      if (failed(expect_whole_chunks(store))) return failure();
      return expect_state(op, store.getX());
    }
    return success();
  }

  // One of these; messages name the first.
  LogicalResult expect_role(Operation* op, llvm::StringRef tensor, std::initializer_list<llvm::StringRef> roles) const {
    auto found = tensors_.roles.find(tensor);
    if (found == tensors_.roles.end()) return op->emitOpError("\"") << tensor << "\" is not among the kernel's tensors";
    if (llvm::is_contained(roles, found->second)) return success();
    return op->emitOpError("\"") << tensor << "\" is of the role " << found->second << "; expected " << *roles.begin();
  }

  LogicalResult expect_refusals(Operation* op, llvm::StringRef tensor) const {
    if (failed(expect_role(op, tensor, {"workspace"}))) return failure();
    return expect_dims(op, tensor, "B,H," + std::to_string(kernel_.getSegments()) + ",1");
  }

  LogicalResult verify_samples(ExpectOp op) const {
    if (failed(expect_refusals(op, op.getTensor()))) return failure();
    for (auto name : op.getInputs().getAsValueRange<StringAttr>())
      if (failed(expect_role(op, name, {"input"}))) return failure();
    for (auto name : op.getGradients().getAsValueRange<StringAttr>())
      if (failed(expect_role(op, name, {"output_gradient"}))) return failure();
    if (op.getGradients().empty() != !op.getUnit()) return op.emitOpError("gives a unit of the gradients that it has");
    return success();
  }

  bool carries_segments() const { return kernel_.getSegments() > 1; }

  int64_t key_dim() const { return signed_value(kernel_.getKeyDim()); }

  // Of a tensor that heads may share, too.
  LogicalResult expect_dims(Operation* op, llvm::StringRef tensor, llvm::StringRef dims) const {
    const std::string given = tensors_.dims.lookup(tensor).str();
    const bool shared = llvm::StringRef(given).starts_with("B,T,S");
    if ((shared ? "B,T,H" + given.substr(5) : given) == dims) return success();
    return op->emitOpError("\"") << tensor << "\" has the dims " << tensors_.dims.lookup(tensor) << "; expected "
                                 << dims;
  }

  // States of segments, with the rows of a map behind each.
  LogicalResult expect_segments(Operation* op, llvm::StringRef tensor) const {
    if (tensors_.roles.lookup(tensor) != "workspace") return success();
    llvm::SmallVector<llvm::StringRef> parts;
    tensors_.dims.lookup(tensor).split(parts, ',');
    int64_t count = 0, rows = 0, V = signed_value(kernel_.getValueDim());
    bool fits = parts.size() == 5 && parts[0] == "B" && parts[1] == "H" && parts[4] == "K" &&
                !parts[2].getAsInteger(10, count) && !parts[3].getAsInteger(10, rows);
    if (fits && count == kernel_.getSegments() && (rows == V + 16 || rows == V + key_dim())) return success();
    return op->emitOpError("\"") << tensor << "\" has the dims " << tensors_.dims.lookup(tensor) << "; expected B,H,"
                                 << kernel_.getSegments() << "," << V + key_dim() << ",K, or " << V + 16
                                 << " rows with diagonal maps";
  }

  // A tile of states: all keys of 16 rows.
  LogicalResult expect_state(Operation* op, Value tile) const {
    auto type = cast<TileType>(tile.getType());
    if (type.getShape() == llvm::ArrayRef<int64_t>{16, key_dim()}) return success();
    return op->emitOpError() << "moves states as " << type << "; expected 16 rows of " << key_dim() << " keys";
  }

  LogicalResult expect_whole_chunks(StoreIntermediateOp op) const {
    const int64_t every = signed_value(op.getEvery()), C = signed_value(kernel_.getChunk());
    if (every > 0 && every % C == 0) return success();
    return op->emitOpError() << "is of every " << every << " tokens; expected a multiple of the chunk, " << C;
  }

  LogicalResult expect_state_of_rounds(Operation* op) const {
    const int64_t between = goes_again(kernel_) ? 2 : 1, every = kernel_.getSavedEvery();
    if (every == between * round_chunks(kernel_)) return success();
    return op->emitOpError() << "is of the first chunk of " << between << " rounds of " << round_chunks(kernel_)
                             << "; a state is saved every " << every;
  }

  // An initial, a final or an intermediate state is stored in any dtype, and is f32 in registers.
  bool moves_stored_state(Operation* op) const {
    if (isa<StoreIntermediateOp>(op)) return true;
    auto tensor = op->getAttrOfType<StringAttr>("tensor");
    return isa<LoadStateOp, StoreStateOp>(op) && tensors_.roles.lookup(tensor.getValue()).ends_with("_state");
  }

  // The dtype in which an operation takes or leaves what its tensor has; null if it has no tensor.
  static Type moved_by(Operation* op) {
    if (isa<RingOp, LoadSavedOp>(op)) return element_of(op->getResult(0));
    if (auto copy = dyn_cast<CopySavedOp>(op)) return element_of(copy.getStaged());
    if (auto dtype = op->getAttrOfType<TypeAttr>("dtype")) return dtype.getValue();
    if (isa<LoadStateOp, StoreStateOp, StoreSumOp, OnlyRefusedOp, RefuseOp, ExpectOp>(op))
      return Float32Type::get(op->getContext());
    return {};
  }

  LogicalResult expect_dtype(Operation* op, llvm::StringRef tensor, Type moved) const {
    const std::string given = dtype_text(in_tensors(moved));
    const llvm::StringRef dtype = tensors_.dtypes.lookup(tensor);
    if (dtype == given) return success();
    return op->emitOpError() << "moves " << given << "; \"" << tensor << "\" is of " << dtype;
  }

  // Of the chunk's tokens by its tokens.
  LogicalResult expect_matrix(Operation* op, llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape) const {
    int64_t C = signed_value(kernel_.getChunk());
    if (failed(expect_dims(op, tensor, "B,T,H," + std::to_string(C)))) return failure();
    if (shape == llvm::ArrayRef<int64_t>{C, C}) return success();
    return op->emitOpError() << "moves a matrix of " << shape[0] << "x" << shape[1] << "; expected " << C << "x" << C;
  }

  LogicalResult expect_own_rows(Operation* op, Value tile) const {
    auto type = cast<TileType>(tile.getType());
    if (type.getDimSize(0) == signed_value(kernel_.getValueDim())) return success();
    return op->emitOpError() << "takes a warp's own of " << type << "; expected " << signed_value(kernel_.getValueDim())
                             << " rows, 16 for each warp";
  }

  int64_t columns_of(ShareOp share) const { return signed_value(share.getWidth()) * team_warps(kernel_); }
  // Of all slabs, of one of which this is the first; null if it is no index.
  std::optional<int64_t> columns_of(Value index) const {
    if (!isa<IndexType>(index.getType())) return {};
    if (auto share = index.getDefiningOp<ShareOp>()) return columns_of(share);
    auto slabs = dyn_cast<SlabsOp>(index.getParentBlock()->getParentOp());
    return slabs ? std::optional(signed_value(slabs.getColumns())) : std::nullopt;
  }

  // What is indexed by the first column of a slab has as many columns as there are slabs of. Parts of sums are
  // numbered by it.
  LogicalResult verify_columns(Operation* op) const {
    for (Value index : op->getOperands()) {
      const std::optional<int64_t> columns = columns_of(index);
      if (!columns) continue;
      auto expect = [&](int64_t given) -> LogicalResult {
        if (given == *columns) return success();
        return op->emitOpError() << "has " << given << " columns in slabs of " << *columns;
      };
      if (isa<StoreOutputOp>(op)) return expect(key_dim());
      if (auto parameter = dyn_cast<ParameterOp>(op))
        return expect(tensors_.dims.lookup(parameter.getTensor()).ends_with("V") ? signed_value(kernel_.getValueDim())
                                                                                 : key_dim());
      if (auto mma = dyn_cast<MmaOp>(op)) return expect(cast<TileType>(mma.getY().getType()).getDimSize(1));
      auto store = dyn_cast<StoreVectorOp>(op);
      auto load = dyn_cast<LoadVectorOp>(op);
      if (store && store.getPart()) continue;
      for (Value x : op->getOperands())
        if (is_in_shared_memory(x))
          if (int64_t parts = load && load.getParts() ? signed_value(*load.getParts()) : 1;
              failed(expect(shape_of(x).back() / parts)))
            return failure();
    }
    return success();
  }

  mutable KernelOp kernel_;  // whose accessors are not const
  const Tensors& tensors_;
};

}  // namespace

Tensors::Tensors(KernelOp kernel) {
  for (auto text : kernel.getTensors().getAsValueRange<StringAttr>()) {
    auto [role, rest] = text.split(' ');
    auto [name, type] = rest.split(' ');
    roles[name] = role;
    dtypes[name] = type.split(' ').first;
    dims[name] = type.split(' ').second;
  }
}

LogicalResult verify_tensor(KernelOp kernel, const Tensors& tensors, Operation* op) {
  const TensorRules rules(kernel, tensors);
  return failed(rules.verify_tensor(op)) ? failure() : rules.verify_dtype(op);
}
LogicalResult verify_extents(KernelOp kernel, const Tensors& tensors, Operation* op) {
  return TensorRules(kernel, tensors).verify_extents(op);
}

}  // namespace wkvc::warp
