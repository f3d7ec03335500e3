// Shared memory that warps exchange tiles in: buffers, and what goes between them and registers.
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/TypeSwitch.h>

#include "codegen/emit/operations/Operations.h"

using namespace mlir;

namespace wkvc {

// Returns the name of a variable that each of several regions declares for itself.
static std::string declare_again(KernelText& text, Value value) {
  const std::string name = text.names.of(value);
  return name.empty() ? text.names.declare_everywhere(value, wished_name(value)) : name;
}

// `memory`: the variable of the block or slot that the buffer lies in.
static void write_in(KernelText& text, warp::BufferOp op, const std::string& memory) {
  auto type = cast<warp::TileType>(op.getType());
  const std::string shape = dtype_text(type.getElementType()) + ", " + shape_text(type);
  const std::string name = declare_again(text, op.getResult());
  const auto [data, scale] = text.places.lookup(op);
  if (op.getSlabs())
    text.line("const auto {} = {}.{}_slabs<{}>({}, {});", name, memory,
              *op.getSlabs() == warp::Slabs::rows ? "row" : "column", shape, data, scale);
  else if (op.getScale())
    text.line("const auto {} = {}.scaled_shared<{}>({}, {});", name, memory, shape, data, scale);
  else
    text.line("const auto {} = {}.shared<{}>({});", name, memory, shape, data);
}

static void write_in(KernelText& text, warp::FloatsOp op, const std::string& memory) {
  text.line("float* const {} = {}.floats({});", declare_again(text, op.getResult()), memory,
            text.place_of(op.getResult()));
}

// In a kernel of teams buffers are declared where they are used.
template <class Op>
static void write_buffer(KernelText& text, Op op) {
  if (!text.traits.has_teams) write_in(text, op, "block");
}

// Returns operands in the slot of the operation's own chunk.
static ValueRange in_own_slot(Operation* op) {
  if (isa<warp::LoadJoinedOp>(op)) return {};
  return isa<warp::JoinRowsOp>(op) ? ValueRange(op->getOperands().take_front()) : ValueRange(op->getOperands());
}

void write_buffers_of(KernelText& text, Region& region, SlotVariable slot) {
  llvm::SetVector<Operation*> used;
  region.walk([&](Operation* op) {
    for (Value operand : in_own_slot(op))
      if (isa_and_nonnull<warp::BufferOp, warp::FloatsOp>(operand.getDefiningOp()))
        used.insert(operand.getDefiningOp());
  });
  for (Operation* op : used)
    llvm::TypeSwitch<Operation*>(op).Case<warp::BufferOp, warp::FloatsOp>(
        [&](auto buffer) { write_in(text, buffer, memory_of(text, buffer.getResult(), slot)); });
}

static void write_load(KernelText& text, warp::LoadOp op) { text.define(op.getResult(), text.expressions.load(op)); }

static void write_store(KernelText& text, warp::StoreOp op) {
  auto buffer = op.getTile().getDefiningOp<warp::BufferOp>();
  // A scale that every warp knows is not stored with the tile.
  const bool data_only = warp::has_scale(op.getX()) && buffer && !buffer.getScale();
  const std::string to = op.getOwnRows() ? text.names.of(op.getTile()) + ".rows<16>(row0)"
                                         : text.expressions.columns(op.getTile(), op.getColumn(), op.getOwnColumns());
  text.line("store{}({}, {}{});", op.getOwnColumns() ? "_transposed" : "", to, text.expr(op.getX()),
            data_only ? ".data" : "");
}

void add_buffers(OperationWriters& writers) {
  writers.add(write_buffer<warp::BufferOp>);
  writers.add(write_buffer<warp::FloatsOp>);
  writers.add(write_load);
  writers.add(write_store);
}

}  // namespace wkvc
