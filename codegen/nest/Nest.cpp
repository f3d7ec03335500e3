#include "codegen/nest/Nest.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/DialectImplementation.h>

#include "codegen/ir/TileText.h"
#include "codegen/rec/Limits.h"

using namespace mlir;

namespace wkvc::nest {
namespace {

template <class Wrapped>
ParseResult parse_wrapped(OpAsmParser& parser, Type& type) {
  TileType tile;
  if (parser.parseCustomTypeWithFallback(tile)) return failure();
  type = Wrapped::get(parser.getContext(), tile);
  return success();
}

// The type of a channel, of which texts have the tile alone.
ParseResult parseTileOf(OpAsmParser& parser, Type& channel) { return parse_wrapped<ChannelType>(parser, channel); }
void printTileOf(OpAsmPrinter& printer, Operation*, Type channel) {
  printer.printStrippedAttrOrType(cast<ChannelType>(channel).getTile());
}

ParseResult parsePendingTile(OpAsmParser& parser, Type& pending) { return parse_wrapped<PendingType>(parser, pending); }
void printPendingTile(OpAsmPrinter& printer, Operation*, Type pending) {
  printer.printStrippedAttrOrType(cast<PendingType>(pending).getTile());
}

}  // namespace
}  // namespace wkvc::nest

#include "codegen/nest/NestDialect.cpp.inc"
#include "codegen/nest/NestEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "codegen/nest/NestTypes.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/nest/NestOps.cpp.inc"

namespace wkvc::nest {

namespace {
constexpr int64_t kAligned = 1024;  // bytes, of what is swizzled
}

void NestDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "codegen/nest/NestTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/nest/NestOps.cpp.inc"
      >();
}

// 64x128xf16, swizzled
Type TileType::parse(AsmParser& parser) {
  const auto at = parser.getCurrentLocation();
  const auto tile = parse_tile(parser);
  if (failed(tile)) return {};
  if (tile->shape.size() != 2) return parser.emitError(at) << "a tile has rows and columns", Type();
  return getChecked([&] { return parser.emitError(at); }, parser.getContext(), tile->shape[0], tile->shape[1],
                    tile->element, tile->layout);
}

void TileType::print(AsmPrinter& printer) const {
  print_tile(printer, {getRows(), getColumns()}, getElement(), getLayout());
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> error, int64_t rows, int64_t columns, Type element,
                               Layout layout) {
  if (llvm::is_contained({Layout::strips, Layout::shared, Layout::matrices}, layout))
    return error() << "'" << StringRef(word_of(layout)) << "' is a layout of warp.tile";
  if (!isa<Float16Type, BFloat16Type, Float32Type, FloatTF32Type>(element))
    return error() << "elements are f16, bf16, tf32 or f32";
  if (rows < 1 || columns < 1 || rows > 4096 || columns > 4096) return error() << "extents are 1 to 4096";
  return success();
}

int64_t TileType::elementBytes() const { return isa<Float32Type, FloatTF32Type>(getElement()) ? 4 : 2; }

// Padded tiles of 16 bits have 16 bytes behind each 16 rows of 8 columns.
int64_t TileType::bytes() const {
  const int64_t dense = getRows() * getColumns() * elementBytes();
  return getLayout() == Layout::padded && elementBytes() == 2 ? dense / 16 * 17 : dense;
}

RoleOp role_of(Operation* op) { return op->getParentOfType<RoleOp>(); }

bool is_dealt(Operation* op) {
  auto sweep = op->getParentOfType<SweepOp>();
  return sweep && sweep.getDealt();
}

int64_t copies_of_chunk(Operation* op) { return is_dealt(op) ? 1 : static_cast<int64_t>(role_of(op).getCopies()); }

int64_t blocks_of(Operation* op) {
  auto kernel = dyn_cast<KernelOp>(op);
  return static_cast<int64_t>((kernel ? kernel : op->getParentOfType<KernelOp>()).getCluster());
}

int64_t slot_bytes(ChannelOp channel) {
  const TileType tile = cast<ChannelType>(channel.getChannel().getType()).getTile();
  const int64_t unit = tile.getLayout() == Layout::swizzled ? kAligned : 16;
  return (tile.bytes() + unit - 1) / unit * unit;
}

int64_t shared_bytes(ChannelOp channel) {
  if (channel.getOver()) return 0;
  return static_cast<int64_t>(channel.getDepth()) * (slot_bytes(channel) + kSlotMbarriers);
}

}  // namespace wkvc::nest
