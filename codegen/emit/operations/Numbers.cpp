// Rows, columns and numbers of f32 in shared memory.
#include "codegen/emit/operations/Operations.h"

using namespace mlir;

namespace wkvc {

// Returns, in a kernel of teams, the floats of a chunk of the round, by the chunk's number in the round.
static std::string in_slot(const KernelText& text, const std::string& chunk, Value floats) {
  return fmt::format("Slot<{}>(block, {}).floats({})", text.names_around(floats).slots, chunk, text.place_of(floats));
}

// Returns the floats of each slot, for operations outside rounds.
static std::vector<std::string> in_all_slots(const KernelText& text, Value floats) {
  if (!text.traits.has_teams) return {text.names.of(floats)};
  std::vector<std::string> all;
  for (int64_t chunk = 0; chunk < warp::round_chunks(text.kernel); ++chunk)
    all.push_back(in_slot(text, std::to_string(chunk), floats));
  return all;
}

static std::string loaded_from(const KernelText& text, warp::LoadVectorOp op) {
  std::string from =
      op.getOf() ? in_slot(text, *op.getOf() == warp::ChunkOfRound::first ? "0" : "round_end - 1 - first", op.getFrom())
                 : text.names.of(op.getFrom());
  return op.getColumn() ? from + " + " + text.names.of(op.getColumn()) : from;
}

static void write_load_vector(KernelText& text, warp::LoadVectorOp op) {
  const std::string from = loaded_from(text, op);
  const char* kind = is_row(op.getType()) ? "row" : "column";
  const int64_t size = length(op.getType());
  if (op.getParts()) {
    const auto parts = static_cast<int64_t>(*op.getParts());
    text.define(op.getResult(), fmt::format("load_{}_sum<{}>({}, {}, {})", kind, size, from, parts,
                                            cast<warp::TileType>(op.getFrom().getType()).getDimSize(0) / parts));
  } else if (is_number(op.getType())) {
    text.define(op.getResult(), fmt::format("load_number({})", from));
  } else {
    text.define(op.getResult(), fmt::format("load_{}<{}>({})", kind, size, from));
  }
}

static void write_join_rows(KernelText& text, warp::JoinRowsOp op) {
  text.line("if (c + 1 < round_end)");
  text.line("  store_row({0}, load_row<{1}>({0}) * load_row<{1}>({2}));", text.names.of(op.getLast()),
            cast<warp::TileType>(op.getLast().getType()).getDimSize(0), in_slot(text, "c + 1 - first", op.getFirst()));
}

static void write_load_joined(KernelText& text, warp::LoadJoinedOp op) {
  text.define(op.getResult(),
              fmt::format("load_row<{}>(Slot<{}>(block, c > first ? c - 1 - first : 0).floats(c > first ? {} : {}))",
                          length(op.getType()), text.names_around(op.getLast()).slots, text.place_of(op.getLast()),
                          text.place_of(op.getFirst())));
}

// Returns the offset of a stored part; empty where a whole row or column is stored.
static std::string stored_behind(const KernelText& text, warp::StoreVectorOp op) {
  const Value column = op.getColumn();
  const int64_t count = length(op.getX().getType());
  if (!op.getPart()) return column ? " + " + text.names.of(column) : "";
  if (!column) return fmt::format(" + {} * block.warp", count);
  return fmt::format(" + {} * ({} / {})", count, text.names.of(column), warp::slab_width(column));
}

static void write_store_vector(KernelText& text, warp::StoreVectorOp op) {
  const bool outside = !op->getParentOfType<warp::SweepOp>() && !op->getParentOfType<warp::TeamOp>();
  const Type type = op.getX().getType();
  const char* kind = is_number(type) ? "number" : is_row(type) ? "row" : "column";
  for (const std::string& to : outside ? in_all_slots(text, op.getTo()) : std::vector{text.names.of(op.getTo())})
    text.line("store_{}({}{}, {});", kind, to, stored_behind(text, op), text.expr(op.getX()));
}

static void write_add_vector(KernelText& text, warp::AddVectorOp op) {
  const std::string to = text.names.of(op.getTo()) + " + " + text.expressions.first_of(op.getColumn());
  const char* kind = op.getColumn() ? "row" : "column";
  text.line("store_{}({}, load_{}<{}>({}) + {});", kind, to, kind, length(op.getX().getType()), to,
            text.expr(op.getX()));
}

static void write_store_sum(KernelText& text, warp::StoreSumOp op) {
  const std::string column = text.expressions.first_of(op.getColumn());
  const char* kind = op.getColumn() ? "row" : "column";
  std::vector<std::string> parts;
  for (const std::string& from : in_all_slots(text, op.getFrom()))
    parts.push_back(fmt::format("load_{}<16>({} + {})", kind, from, column));
  text.line("store_parameter_{}<f32>({}, block, {}, {});", kind, text.tensor(op.getTensor()), column,
            fmt::join(parts, " + "));
}

static void write_store_number(KernelText& text, warp::StoreNumberOp op) {
  std::vector<std::string> numbers;
  for (Value x : op.getX()) numbers.push_back(text.names.of(x));
  text.line("store_scale({}, {});", text.names.of(op.getTo()),
            numbers.empty() ? "0.f" : fmt::format("{}", fmt::join(numbers, " + ")));
}

static void write_load_number(KernelText& text, warp::LoadNumberOp op) {
  text.line("const float {} = *{};", text.declare(op.getResult()), text.names.of(op.getFrom()));
}

void add_numbers(OperationWriters& writers) {
  writers.add(write_load_vector);
  writers.add(write_join_rows);
  writers.add(write_load_joined);
  writers.add(write_store_vector);
  writers.add(write_add_vector);
  writers.add(write_store_sum);
  writers.add(write_store_number);
  writers.add(write_load_number);
}

}  // namespace wkvc
