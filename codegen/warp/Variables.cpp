#include "codegen/warp/Variables.h"

#include <vector>

#include "codegen/ir/DerivedNames.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc::warp {

bool is_inlined(Operation* op) {
  if (op->getNumResults() != 1) return false;
  Value value = op->getResult(0);
  if (!value.hasOneUse() || value.use_begin()->getOwner()->getBlock() != op->getBlock()) return false;
  auto reader = dyn_cast<RoundOp>(*value.user_begin());
  if (reader && reader.getInScale()) return false;  // which may change the scale that its variable carries
  if (isa<RoundOp>(op)) return isa<StoreOp>(*value.user_begin());
  if (isa<WithScaleOp, WithoutScaleOp>(op)) return op->getNextNode() == *value.user_begin();
  auto call = dyn_cast<CallOp>(op);
  if (!call || !name_of(value).empty()) return false;
  if (isa<MmaOp>(*value.user_begin())) return false;
  // Accumulators change under way, so what reads them is evaluated at once.
  return llvm::none_of(op->getOperands(),
                       [](Value x) { return isa<BlockArgument>(x) || isa<MmaOp, ZerosOp>(x.getDefiningOp()); });
}

namespace {

// Whether the text of `user`, in a line of its own or its reader's, comes before that of `op`.
bool is_written_before(Operation* user, Operation* op) {
  if (user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op)) return false;
  return !is_inlined(user) || is_written_before(*user->user_begin(), op);
}

// The contraction that goes on in the variable of this sum; null if there is none.
MmaOp continued(Value sum) {
  for (Operation* user : sum.getUsers())
    if (auto mma = dyn_cast<MmaOp>(user); mma && mma.getAcc() == sum && accumulates_in_place(mma)) return mma;
  return {};
}

std::string name_or_derived(Value x);

bool is_of_level(llvm::StringRef function) {
  return llvm::is_contained({"level_pairs", "upper_rows", "lower_rows", "last_of_other_half", "sum_of_other_half"},
                            function);
}

// Of the operation's result.
std::string derived_name_of(Operation* op) {
  if (auto load = dyn_cast<LoadOp>(op)) return without_storage(name_of(load.getTile())).str();
  if (auto load = dyn_cast<LoadVectorOp>(op)) return without_storage(name_of(load.getFrom())).str();
  if (auto load = dyn_cast<LoadStateOp>(op)) return load.getTensor().str();
  if (isa<LoadSavedOp, LoadStagedOp>(op)) return "saved_state";
  llvm::StringRef function = op->getName().stripDialect();
  int64_t half = 0;
  if (auto call = dyn_cast<CallOp>(op)) {
    function = call.getFunction();
    if (is_of_level(function)) half = static_cast<int64_t>(call.getConstant()->convertToFloat());
  }
  if (auto times = dyn_cast<TimesUnitOp>(op); times && times.getOver()) function = "over_unit";
  const bool one = isa<TimesUnitOp, PlusExponentOp, RoundOp, RoundBesideOp>(op);
  std::vector<std::string> operands;
  for (Value operand : op->getOperands().take_front(one ? 1 : op->getNumOperands()))
    if (isa<TileType>(operand.getType())) operands.push_back(name_or_derived(operand));
  return derived_name(function, operands, half);
}

std::string name_or_derived(Value x) {
  if (auto name = name_of(x); !name.empty()) return name.str();
  Operation* op = x.getDefiningOp();
  return op && is_inlined(op) ? derived_name_of(op) : "";
}

// The name of the last value that the sum's variable holds, or one after the factors of its first product.
std::string name_of_sum(MmaOp op) {
  llvm::SmallVector<std::string> factors;
  if (auto names = op.getFactors())
    for (llvm::StringRef name : names->getAsValueRange<StringAttr>()) factors.push_back(name.split('^').first.str());
  for (; op; op = continued(op.getResult()))
    if (auto name = name_of(op.getResult()); !name.empty()) return name.str();
  return derived_name("dot", factors);
}

}  // namespace

bool accumulates_in_place(MmaOp op) {
  Value acc = op.getAcc();
  if (acc.getParentBlock() != op->getBlock()) return false;
  if (!isa<BlockArgument>(acc) && !isa<MmaOp, ZerosOp, CallOp>(acc.getDefiningOp())) return false;
  return llvm::all_of(acc.getUsers(), [&](Operation* user) { return user == op || is_written_before(user, op); });
}

bool is_accumulator(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation* user) {
    if (auto round = dyn_cast<RoundOp>(user); round && round.getInScale()) return true;
    auto mma = dyn_cast<MmaOp>(user);
    return mma && mma.getAcc() == value && accumulates_in_place(mma);
  });
}

void name_variables(KernelOp kernel) {
  kernel.walk([](Operation* op) {
    if (op->getNumResults() != 1 || !is_in_registers(op->getResult(0))) return;
    Value value = op->getResult(0);
    if (!name_of(value).empty() || is_inlined(op) || isa<ZerosOp>(op)) return;
    auto mma = dyn_cast<MmaOp>(op);
    const std::string name = mma ? name_of_sum(mma) : derived_name_of(op);
    if (!name.empty()) set_name(value, name);
  });
}

}  // namespace wkvc::warp
