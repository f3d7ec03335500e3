#include "codegen/warp/Warp.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/DialectImplementation.h>

#include "codegen/instructions/Families.h"
#include "codegen/ir/TileText.h"
#include "codegen/rec/Limits.h"
#include "codegen/warp/Channels.h"

using namespace mlir;

#include "codegen/warp/WarpDialect.cpp.inc"
#include "codegen/warp/WarpEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "codegen/warp/WarpTypes.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/warp/WarpOps.cpp.inc"

namespace wkvc::warp {

Type TileType::parse(AsmParser& parser) {
  const auto at = parser.getCurrentLocation();
  const auto tile = parse_tile(parser);
  if (failed(tile)) return {};
  return getChecked([&] { return parser.emitError(at); }, parser.getContext(), tile->shape, tile->element,
                    tile->layout);
}

void TileType::print(AsmPrinter& printer) const { print_tile(printer, getShape(), getElementType(), getLayout()); }

static bool is_of_matrix(Layout layout) {
  return llvm::is_contained({Layout::fragments, Layout::strips, Layout::shared, Layout::matrices}, layout);
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> error, ArrayRef<int64_t> shape, Type element,
                               Layout layout) {
  if (!isa<Float32Type, FloatTF32Type, Float16Type, BFloat16Type, Bf16x3Type, F16x2Type, LowerF16x2Type>(element))
    return error() << "elements of tiles are not " << element;
  const bool is_array = shape.size() == 1;
  if (is_array && !element.isF32()) return error() << "an array has floats, not " << element;
  if (layout == Layout::matrices && !may_be_matrices(element))
    return error() << "wgmma reads elements of 16 bits, not " << element;
  if (is_array ? layout == Layout::plain : is_of_matrix(layout)) return success();
  return error() << (is_array ? "an array" : "a matrix") << " does not lie as " << StringRef(word_of(layout));
}

void WarpDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "codegen/warp/WarpTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/warp/WarpOps.cpp.inc"
      >();
}

bool is_in_registers(Value value) {
  auto tile = dyn_cast<TileType>(value.getType());
  return tile && tile.isInRegisters();
}

bool is_in_shared_memory(Value value) {
  auto tile = dyn_cast<TileType>(value.getType());
  return tile && tile.isInSharedMemory();
}

bool is_in_strips(Value value) {
  auto tile = dyn_cast<TileType>(value.getType());
  return tile && tile.getLayout() == Layout::strips;
}

RoleOp role_of(KernelOp kernel, Work work) {
  for (auto role : kernel.getBody().getOps<RoleOp>())
    if (role.getWork() == work) return role;
  return {};
}

bool is_in_role(Operation* op, Work work) {
  auto role = op->getParentOfType<RoleOp>();
  return role && role.getWork() == work;
}

bool has_slots(KernelOp kernel) { return !kernel.getBody().getOps<ChannelOp>().empty(); }

bool has_producers(KernelOp kernel) { return static_cast<bool>(role_of(kernel, Work::prepare)); }

bool has_phases(KernelOp kernel) {
  return kernel.walk([](PhaseOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool is_of_team(Value shared) {
  Operation* op = shared.getDefiningOp();
  if (!isa_and_nonnull<RingOp, BufferOp, FloatsOp>(op)) return false;
  return !channel_named_by(op) && has_slots(op->getParentOfType<KernelOp>());
}

// tf32 lies as f32 does.
static int64_t padded_bytes(TileType tile) {
  const int64_t element_bytes = tile.getElementType().isTF32() ? 4 : tile.getElementTypeBitWidth() / 8;
  const int64_t padding = has_terms(tile.getElementType()) ? kTermPadding : kRowPadding;
  return tile.getDimSize(0) * (tile.getDimSize(1) + padding) * element_bytes;
}

int64_t ring_bytes(TileType tile, bool exchanged) {
  return exchanged ? tile.getNumElements() * tile.getElementTypeBitWidth() / 8 : padded_bytes(tile);
}

int64_t shared_bytes(TileType tile) {
  if (tile.getRank() == 1) return tile.getDimSize(0) * tile.getElementTypeBitWidth() / 8;
  if (tile.getElementTypeBitWidth() > 16) return padded_bytes(tile);
  // In pieces of 16 rows by 8 columns, a row's bytes apart if they may be stored in strips.
  return tile.getNumElements() / 16 * (tile.getDimSize(0) < 128 ? 16 + 1 : 16) * 2;
}

int64_t shared_bytes(RingOp ring) {
  return static_cast<int64_t>(ring.getStages()) * ring_bytes(cast<TileType>(ring.getType()), ring.getExchanged());
}

int64_t shared_bytes(StagedOp staged) {
  auto type = cast<TileType>(staged.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

int64_t slab_width(SlabsOp slabs) { return static_cast<int64_t>(slabs.getStrips().value_or(16)); }

int64_t slab_width(Value column) {
  if (auto share = column.getDefiningOp<ShareOp>()) return rec::signed_value(share.getWidth());
  auto argument = dyn_cast<BlockArgument>(column);
  auto slabs = argument ? dyn_cast_or_null<SlabsOp>(argument.getOwner()->getParentOp()) : SlabsOp();
  return slabs ? slab_width(slabs) : 16;
}

bool has_scale(Value operand) {
  if (operand.getDefiningOp<RoundBesideOp>()) return true;
  if (auto round = operand.getDefiningOp<RoundOp>()) return has_scale(round);
  auto buffer = operand.getDefiningOp<BufferOp>();
  return buffer && buffer.getScale() && !buffer.getSlabs();
}

bool has_scale(RoundOp round) { return round.getScale() || round.getOwn() || round.getInScale() || round.getAsIs(); }

int64_t scale_bytes(BufferOp buffer) {
  if (!buffer.getSlabs()) return sizeof(float);
  int64_t slabs = cast<TileType>(buffer.getType()).getDimSize(*buffer.getSlabs() == Slabs::rows ? 0 : 1) / 16;
  return slabs * static_cast<int64_t>(sizeof(float));
}

const InstructionFamily& instructions_of(Family family) {
  return family == Family::mma_sync ? mma_sync : wgmma_of_one_warp;
}

int64_t group_columns(bool transposed) { return transposed ? group_mma_columns_transposed : group_mma_columns; }

bool may_be_matrices(Type element) { return !is_folded(element) && element.getIntOrFloatBitWidth() == 16; }

bool is_of_columns(Value tile) {
  auto load = tile.getDefiningOp<LoadOp>();
  return load && load.getColumn() && load.getTransposed();
}

}  // namespace wkvc::warp
