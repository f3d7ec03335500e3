#include "codegen/warp/verify/Accesses.h"

#include <fmt/core.h>
#include <llvm/ADT/TypeSwitch.h>

#include "codegen/ir/Text.h"
#include "codegen/rec/Limits.h"

using namespace mlir;

namespace wkvc::warp {

using rec::signed_value;

namespace {

Operation* declaration_of(Value shared) {
  if (auto current = shared.getDefiningOp<CurrentOp>()) shared = current.getRing();
  return shared.getDefiningOp();
}

// The first column of the slab that is meant of an operand; null if it is none.
Value column_of(OpOperand& use) {
  return llvm::TypeSwitch<Operation*, Value>(use.getOwner())
      .Case<LoadOp, StoreOp, LoadVectorOp, StoreVectorOp, AddVectorOp, StoreSumOp, ColumnDotsOp>(
          [](auto op) { return op.getColumn(); })
      .Case<MmaOp>([&](MmaOp op) { return &use == &op.getYMutable() ? op.getYColumn() : Value(); })
      .Default(Value());
}

bool is_of_own_rows(Operation* op) {
  auto load = dyn_cast<LoadOp>(op);
  auto store = dyn_cast<StoreOp>(op);
  auto publish = dyn_cast<PublishMaxOp>(op);
  auto vector = dyn_cast<StoreVectorOp>(op);
  return isa<StageStateOp, LoadStagedOp, AddVectorOp, StoreSumOp>(op) || (load && load.getOwnRows()) ||
         (store && store.getOwnRows()) || (publish && is_in_registers(publish.getX())) || (vector && vector.getPart());
}

bool is_of_own_columns(Operation* op) {
  auto load = dyn_cast<LoadOp>(op);
  auto store = dyn_cast<StoreOp>(op);
  return (load && load.getOwn()) || (store && store.getOwnColumns());
}

Share share_of(OpOperand& use) {
  Operation* op = use.getOwner();
  if (auto on = op->getParentOfType<OnWarpOp>()) return {Share::one, signed_value(on.getWarp())};
  if (isa<LeaveScaleOp>(op)) return {Share::one, 0};
  if (auto publish = dyn_cast<PublishMaxOp>(op))
    if (auto ring =
            dyn_cast_or_null<RingOp>(is_in_shared_memory(publish.getX()) ? declaration_of(publish.getX()) : nullptr))
      return {Share::one, signed_value(ring.getWarp())};
  if (Value column = column_of(use)) return {Share::slabs, slab_width(column)};
  if (is_of_own_rows(op)) return {Share::rows};
  if (is_of_own_columns(op)) return {Share::columns};
  return {};
}

// A row that a team joins with its own, in another team's slot.
bool is_in_other_slot(OpOperand& use) {
  auto join = dyn_cast<JoinRowsOp>(use.getOwner());
  return join && &use == &join.getFirstMutable();
}

}  // namespace

Value written_by(Operation* op) {
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case<StoreOp>([](StoreOp store) { return store.getTile(); })
      .Case<StoreVectorOp, AddVectorOp, StoreNumberOp, LeaveScaleOp>([](auto store) { return store.getTo(); })
      .Case<PublishMaxOp>([](PublishMaxOp publish) { return publish.getSlots(); })
      .Case<JoinRowsOp>([](JoinRowsOp join) { return join.getLast(); })
      .Case<UnitLowerInverseOp>([](UnitLowerInverseOp inverse) { return inverse.getScratch(); })
      .Case<StageStateOp>([](StageStateOp stage) { return stage.getStaged(); })
      .Default(Value());
}

llvm::SmallVector<Access, 4> accesses_of(Operation* op) {
  llvm::SmallVector<Access, 4> accesses;
  if (isa<CopyOp, CopySavedOp, CurrentOp>(op)) return accesses;
  const bool in_team = static_cast<bool>(op->getParentOfType<TeamOp>());
  for (OpOperand& use : op->getOpOperands()) {
    if (!is_in_shared_memory(use.get())) continue;
    const bool writes = use.get() == written_by(op), reads = !writes || isa<AddVectorOp, JoinRowsOp>(op);
    if (Operation* buffer = declaration_of(use.get()))
      accesses.push_back({op, buffer, reads, writes, in_team && !is_in_other_slot(use), share_of(use)});
  }
  return accesses;
}

bool is_declaration(Operation* op) { return isa<RingOp, BufferOp, FloatsOp, StagedOp>(op); }

bool makes_phase(Operation* op) {
  return !isa<PublishMaxOp, ScaleForOp, ScaleOfOp, FitScaleOp, BoundOp, StoreNumberOp, LoadNumberOp, LeaveScaleOp,
              JoinRowsOp>(op);
}

int64_t stages_of(Operation* declaration) {
  auto ring = dyn_cast<RingOp>(declaration);
  return ring ? signed_value(ring.getStages()) : 1;
}

llvm::SmallVector<Bytes, 2> bytes_of(Operation* declaration, int64_t stage) {
  const int64_t offset = declaration->getAttrOfType<IntegerAttr>("offset").getInt();
  const auto type = cast<TileType>(declaration->getResult(0).getType());
  if (auto ring = dyn_cast<RingOp>(declaration)) {
    const int64_t bytes = ring_bytes(type, ring.getExchanged());
    return {{offset + stage * bytes, offset + (stage + 1) * bytes}};
  }
  if (auto staged = dyn_cast<StagedOp>(declaration)) return {{offset, offset + shared_bytes(staged)}};
  llvm::SmallVector<Bytes, 2> all{{offset, offset + shared_bytes(type)}};
  if (auto buffer = dyn_cast<BufferOp>(declaration); buffer && buffer.getScale())
    all.push_back({signed_value(*buffer.getScale()), signed_value(*buffer.getScale()) + scale_bytes(buffer)});
  return all;
}

std::string description_of(Operation* declaration) {
  const llvm::StringRef name = name_of(declaration->getResult(0));
  const Bytes bytes = bytes_of(declaration, 0).front();
  std::string text = fmt::format("the {} {}", declaration->getName().stripDialect().str(),
                                 name.empty() ? "" : fmt::format("%{} ", name.str()));
  text +=
      fmt::format("at bytes {} to {}", bytes.begin, bytes.begin + stages_of(declaration) * (bytes.end - bytes.begin));
  auto from = declaration->getAttrOfType<IntegerAttr>("from"), to = declaration->getAttrOfType<IntegerAttr>("to");
  return from && to ? text + fmt::format(" (live {} to {})", from.getInt(), to.getInt()) : text;
}

}  // namespace wkvc::warp
