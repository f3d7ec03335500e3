#include "codegen/nest/Guards.h"

#include <llvm/ADT/SetVector.h>

#include "runtime/manifest/refusal_names.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

// Returns the name of a tensor such as "input q bf16 B,T,H,K".
StringRef name_in(StringRef tensor) { return tensor.split(' ').second.split(' ').first; }

// Returns the text of a kernel's tensor; empty where the kernel has none of the name.
StringRef tensor_named(KernelOp kernel, StringRef name) {
  if (kernel.getTensors())
    for (StringRef tensor : kernel.getTensors()->getAsValueRange<StringAttr>())
      if (name_in(tensor) == name) return tensor;
  return {};
}

// Returns whether a result is made of elements that were f32, or of 16 other bits.
bool rounds_to_f16(Operation* op) {
  if (op->getNumResults() != 1 || isa<TransposeOp, ChannelOp, ConstantOp>(op)) return false;
  auto tile = dyn_cast<TileType>(op->getResult(0).getType());
  return tile && tile.getElement().isF16() && !tile.isShared();
}

// Returns whether an infinite operand may leave something finite: a maximum, two to a power, single numbers.
bool hides_not_finite(Operation* op) {
  if (auto elementwise = dyn_cast<ElementwiseOp>(op))
    return elementwise.getFunction() == Function::maximum || elementwise.getFunction() == Function::exp2;
  return isa<ElementOp, RowOp, StackOp>(op);
}

// Tiles that are not finite where the first one is not.
class Reached {
 public:
  explicit Reached(Value first) {
    add(first);
    for (size_t i = 0; i < values_.size(); ++i)
      for (OpOperand& use : values_[i].getUses()) follow(use);
  }

  ArrayRef<GuardOp> guards() const { return guards_; }

  // Returns whether a state is stored, which is seen then.
  bool is_stored() const { return is_stored_; }

 private:
  void add(Value value) {
    if (isa<TileType, PendingType>(value.getType())) values_.insert(value);
  }

  void follow(OpOperand& use) {
    Operation* const op = use.getOwner();
    const unsigned number = use.getOperandNumber();
    if (auto guard = dyn_cast<GuardOp>(op)) guards_.push_back(guard);
    if (isa<StoreStateOp>(op)) is_stored_ = true;
    if (auto put = dyn_cast<PutOp>(op)) return follow_channel(put.getChannel());
    if (auto sweep = dyn_cast<SweepOp>(op)) return add(sweep.getBody().getArgument(number));
    if (isa<YieldOp>(op)) return follow_carried(cast<SweepOp>(op->getParentOp()), number);
    if (hides_not_finite(op)) return;
    for (Value result : op->getResults()) add(result);
  }

  void follow_channel(Value channel) {
    for (Operation* user : channel.getUsers())
      if (auto get = dyn_cast<GetOp>(user)) add(get.getTile());
  }

  void follow_carried(SweepOp sweep, unsigned number) {
    add(sweep.getBody().getArgument(number));
    add(sweep.getResult(number));
  }

  llvm::SetVector<Value> values_;
  SmallVector<GuardOp> guards_;
  bool is_stored_ = false;
};

bool is_seen(Value tile);

// Returns whether a guard has seen what a sweep carries: zeros at first, and what each chunk leaves.
bool is_carried_seen(SweepOp sweep, unsigned number) {
  Value first = sweep.getCarried()[number];
  auto yield = dyn_cast<YieldOp>(sweep.getBody().front().back());
  Value next = yield ? yield.getNext()[number] : Value();
  const bool begins_seen = first.getDefiningOp<ConstantOp>() || is_seen(first);
  return begins_seen && next && !isa<BlockArgument>(next) && is_seen(next);
}

// Returns whether a guard has seen the elements of a tile, as they are or before they were rounded or moved.
bool is_seen(Value tile) {
  if (llvm::any_of(tile.getUsers(), [](Operation* user) { return isa<GuardOp>(user); })) return true;
  if (auto carried = dyn_cast<BlockArgument>(tile))
    return is_carried_seen(cast<SweepOp>(carried.getOwner()->getParentOp()), carried.getArgNumber());
  Operation* const op = tile.getDefiningOp();
  if (auto sweep = dyn_cast<SweepOp>(op)) return is_carried_seen(sweep, cast<OpResult>(tile).getResultNumber());
  if (isa<ConvertOp, PartOp, TransposeOp>(op)) return is_seen(op->getOperand(0));
  auto get = dyn_cast<GetOp>(op);
  return get && llvm::all_of(get.getChannel().getUsers(), [](Operation* user) {
           auto put = dyn_cast<PutOp>(user);
           return !put || is_seen(put.getTile());
         });
}

LogicalResult verify_tensors(KernelOp kernel) {
  const StringRef refusals = tensor_named(kernel, refusals_of(kernel));
  if (refusals != ("workspace " + refusals_of(kernel) + " f32 B,H,1,1").str())
    return kernel.emitOpError() << "says in \"" << refusals << "\" what it refuses; expected \"workspace "
                                << refusals_of(kernel) << " f32 B,H,1,1\"";
  for (StringRef name : kernel.getExpects()->getAsValueRange<StringAttr>())
    if (!tensor_named(kernel, name).starts_with("input "))
      return kernel.emitOpError() << "expects \"" << name << "\" to be of ordinary size, which is no input";
  return success();
}

// One role has the state that is left or not, and says so.
LogicalResult verify_states(KernelOp kernel) {
  const auto roles = kernel.getBody().getOps<RoleOp>();
  const auto with_state =
      llvm::count_if(roles, [](RoleOp role) { return !role.getBody().getOps<StoreStateOp>().empty(); });
  if (with_state == 1) return success();
  return kernel.emitOpError() << "that is guarded has one role that stores a state, not " << with_state;
}

// The block's warps meet once, behind all sweeps.
LogicalResult verify_vote(RoleOp role) {
  bool has_met = false;
  for (Operation& op : role.getBody().front()) {
    if (has_met && isa<SweepOp, GuardOp, StoreStateOp>(op))
      return op.emitOpError() << "stands behind nest.store_state, before which the roles of a guarded kernel meet";
    has_met |= isa<StoreStateOp>(op);
  }
  LogicalResult result = success();
  role.walk([&](StoreStateOp store) {
    if (store->getParentOp() != role && succeeded(result))
      result = store.emitOpError() << "of a guarded kernel stands behind its role's sweeps";
  });
  return result;
}

// Returns the first fault of a kernel's roundings, guards and stores.
LogicalResult verify_seen(KernelOp kernel) {
  llvm::SmallPtrSet<Operation*, 8> in_use;
  LogicalResult result = success();
  const auto fail = [&](Operation* op, StringRef why) {
    if (succeeded(result)) result = op->emitOpError() << why;
  };
  kernel.walk([&](Operation* op) {
    if (!rounds_to_f16(op)) return;
    const Reached reached(op->getResult(0));
    in_use.insert_range(reached.guards());
    if (reached.guards().empty() && !reached.is_stored())
      fail(op, "rounds to f16, and no nest.guard sees what comes of the tile");
  });
  kernel.walk([&](GuardOp guard) {
    if (!in_use.contains(guard)) fail(guard, "sees a tile that nothing rounded to f16 comes to: leave the guard out");
  });
  kernel.walk([&](StoreOp store) {
    if (!is_seen(store.getTile())) fail(store, "stores a tile that no nest.guard has seen");
  });
  return result;
}

LogicalResult verify_no_guard(KernelOp kernel) {
  LogicalResult result = success();
  kernel.walk([&](GuardOp guard) {
    if (succeeded(result)) result = guard.emitOpError() << "stands in a kernel that `expects` no inputs";
  });
  return result;
}

}  // namespace

StringRef refusals_of(KernelOp kernel) {
  for (const std::string_view name : refusal_names)
    if (!tensor_named(kernel, name).empty()) return name;
  return {};
}

LogicalResult verify_guards(KernelOp kernel) {
  const StringRef refusals = refusals_of(kernel);
  if (kernel.getExpects().has_value() == refusals.empty())
    return kernel.emitOpError() << "that is guarded `expects` inputs and has a tensor \"" << refusal_names[0]
                                << "\", not one of the two";
  if (refusals.empty()) return verify_no_guard(kernel);
  if (failed(verify_tensors(kernel)) || failed(verify_states(kernel))) return failure();
  for (RoleOp role : kernel.getBody().getOps<RoleOp>())
    if (failed(verify_vote(role))) return failure();
  return verify_seen(kernel);
}

}  // namespace wkvc::nest
