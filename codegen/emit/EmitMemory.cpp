// What is copied, loaded and stored: inputs and their rings, buffers of shared memory, states, outputs.
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/TypeSwitch.h>

#include "codegen/emit/Emitter.h"
#include "codegen/warp/KeptStates.h"

using namespace mlir;

namespace wkvc {

void Emitter::write_output_rows() {
  std::map<std::string, std::string> dtypes;  // of the tensors whose rows are written
  kernel_.walk([&](Operation* op) {
    if (auto store = dyn_cast<warp::StoreOutputOp>(op)) dtypes[store.getTensor().str()] = dtype_text(store.getDtype());
    if (auto store = dyn_cast<warp::StoreMatrixOp>(op))
      dtypes[store.getTensor().str()] = dtype_text(in_tensors(store.getDtype()));
  });
  for (const auto& [name, dtype] : dtypes) {
    output_rows_[name] = names_.unique(name + "_rows");
    line("const OutputRows<{}{}> {}({}, block);", dtype, keeps_places() ? "" : ", false", output_rows_[name],
         tensor(name));
  }
}

// One constant for each buffer, so that regions which declare a buffer each for itself say the same place.
void Emitter::write_places() {
  std::vector<std::string> places;
  const auto place = [&](Operation* op, llvm::StringRef suffix, uint64_t offset) {
    const auto [name, number] = name_of(op->getResult(0)).rsplit("_shared");
    const std::string constant = names_.unique(("at_" + name + number + suffix).str());
    places.push_back(fmt::format("{} = {}", constant, offset));
    return constant;
  };
  kernel_.walk([&](Operation* op) {
    llvm::TypeSwitch<Operation*>(op).Case<warp::RingOp, warp::BufferOp, warp::FloatsOp, warp::StagedOp>(
        [&](auto buffer) { places_[op] = place(op, "", buffer.getOffset()); });
    if (auto buffer = dyn_cast<warp::BufferOp>(op); buffer && buffer.getScale())
      scale_places_[op] = place(op, "_scale", *buffer.getScale());
  });
  if (places.empty()) return;
  line("// Where buffers begin, in bytes from the start of {}.",
       goes_ahead()  ? "a team's memory, and from Slots::kOfTeam on of a chunk's slot"
       : has_teams() ? "a chunk's slot"
                     : "the block's shared memory");
  std::string text;
  for (const std::string& each : places) {
    if (text.size() + each.size() > kLongestLine) {
      line("constexpr int {};", text);
      text.clear();
    }
    text += (text.empty() ? "" : ", ") + each;
  }
  line("constexpr int {};", text);
}

void Emitter::write(warp::RingOp op) {
  line("const Ring<{}{}> {}{{{}.memory + {}}};", kind_of(op), layout_of(op), declare(op.getResult()), copier(),
       place_of(op.getResult()));
  if (isa_and_nonnull<warp::RingOp>(op->getNextNode())) return;  // the last one of a row says who copies them
  for (const AlikeRings& rings : alike_rings(op)) write_copies(rings);
}

// Slots may be declared after the ring that they belong to.
std::string Emitter::slots_text(Value slots) {
  std::string name = names_.of(slots);
  if (!name.empty() && !has_teams()) return name;
  return fmt::format("{}.floats({})", copier(), place_of(slots));
}

std::string Emitter::copied(warp::RingOp ring) {
  Value slots = maximum_of(ring);
  return fmt::format("copied({}, {}, {}{})", ring.getWarp(), tensor(ring.getTensor()), names_.of(ring.getResult()),
                     slots ? ", " + slots_text(slots) : "");
}

void Emitter::write_copies(const AlikeRings& rings) {
  std::string copies = names_.unique("copies");
  copiers_.add(rings, copies);
  const bool kept = keeps_places();
  const std::string layout = kept || !rings.layout.empty() ? rings.layout : ", Padded";
  line("Copies<{}, {}{}{}> {};  // of this warp", rings.kind, rings.turns.size(), layout, kept ? "" : ", false",
       copies);
  for (size_t n = 0; n < rings.turns.size(); ++n) {
    std::vector<std::string> each;
    for (warp::RingOp ring : rings.turns[n]) each.push_back(copied(ring));
    call(fmt::format("{}.take<{}>(args, {},", copies, n, copier()), each);
  }
}

// `memory`: the block that it lies in, with one slot as its shared memory in a kernel of teams.
void Emitter::write_buffer(warp::BufferOp op, const char* memory) {
  auto type = cast<MemRefType>(op.getType());
  std::string shape = dtype_text(type.getElementType()) + ", " + shape_text(type);
  std::string name = declare_again(op.getResult());
  if (op.getSlabs())
    line("const auto {} = {}.{}_slabs<{}>({}, {});", name, memory, *op.getSlabs() == "rows" ? "row" : "column", shape,
         place_of(op.getResult()), scale_places_.lookup(op));
  else if (op.getScale())
    line("const auto {} = {}.scaled_shared<{}>({}, {});", name, memory, shape, place_of(op.getResult()),
         scale_places_.lookup(op));
  else
    line("const auto {} = {}.shared<{}>({});", name, memory, shape, place_of(op.getResult()));
}

void Emitter::write_buffer(warp::FloatsOp op, const char* memory) {
  line("float* const {} = {}.floats({});", declare_again(op.getResult()), memory, place_of(op.getResult()));
}

// Operands in the slot of the operation's own chunk.
static ValueRange in_own_slot(Operation* op) {
  if (isa<warp::LoadJoinedOp>(op)) return {};
  return isa<warp::JoinRowsOp>(op) ? ValueRange(op->getOperands().take_front()) : ValueRange(op->getOperands());
}

// In a kernel of teams: those that a region uses, in the slot of its chunk.
void Emitter::write_buffers_of(Region& region, const char* memory) {
  llvm::SetVector<Operation*> used;
  region.walk([&](Operation* op) {
    for (Value operand : in_own_slot(op))
      if (isa_and_nonnull<warp::BufferOp, warp::FloatsOp>(operand.getDefiningOp()))
        used.insert(operand.getDefiningOp());
  });
  for (Operation* op : used)
    llvm::TypeSwitch<Operation*>(op).Case<warp::BufferOp, warp::FloatsOp>(
        [&](auto buffer) { write_buffer(buffer, memory_of(buffer.getResult(), memory)); });
}

void Emitter::write(warp::CopyOp op) {
  bool backward = op.getRing().getDefiningOp<warp::RingOp>().getBackward();
  std::string chunk = chunk_ahead(backward, op.getAhead());
  const bool own = !op.getAhead() && op->getParentOfType<warp::TeamOp>();  // which is there for such a chunk
  std::string exists = own ? "" : is_in_loop(chunk, backward);
  if (op.getNext()) std::tie(chunk, exists) = next_chunk(op);
  std::vector<warp::RingOp> rings;
  for (warp::CopyOp copy : row_from(op)) rings.push_back(copy.getRing().getDefiningOp<warp::RingOp>());
  for (Copier copies : copiers_.of(rings, "copied", [](warp::RingOp) { return true; }))
    line("{}{}.copy(args, {}, {});", exists.empty() ? "" : "if (" + exists + ") ", copies.variable,
         memory_of(copies.ring.getResult(), warps_), chunk);
}

// The first chunk of the next group, or the team's of the round that it prepares next, and whether there is one.
std::pair<std::string, std::string> Emitter::next_chunk(warp::CopyOp op) {
  const uint64_t every = kernel_.getSavedEvery();
  if (!goes_again_) return {fmt::format("first - {}", every), "g > " + lowest_group()};
  const std::string next = names_.unique("next");
  if (op->getParentOfType<warp::AgainOp>()) {
    line(
        "const int {0} = c + Slots::kChunks < {1} ? c + Slots::kChunks : c;  // in the round after this one, or again "
        "in "
        "this one",
        next, end());
    return {next, ""};
  }
  line("const int {0} = c - (first % {1} == 0 ? {1} : Slots::kChunks);  // of the last group, or of this one", next,
       every);
  return {next, fmt::format("{} >= {}", next, begin())};
}

void Emitter::write(warp::CurrentOp op) {
  auto ring = op.getRing().getDefiningOp<warp::RingOp>();
  if (has_teams() && (loop_ || goes_ahead()))  // the chunk's slot, not that of the team's first
    line("const auto {} = {}.{}<{}, {}>({});", declare(op.getResult()),
         memory_of(op.getRing(), loop_ ? "slot" : warps_), ring.getExchanged() ? "exchanged" : "padded",
         dtype_text(cast<MemRefType>(op.getType()).getElementType()), shape_text(op.getType()), place_of(op.getRing()));
  else if (is_folded(cast<MemRefType>(op.getType()).getElementType()))  // which is copied as what its tensor has
    line("const auto {} = folded({}[c]);", declare(op.getResult()), names_.of(op.getRing()));
  else
    line("const auto {} = {}[c];", declare(op.getResult()), names_.of(op.getRing()));
}

void Emitter::write(warp::PublishMaxOp op) {
  std::vector<std::string> maxima;
  std::vector<warp::RingOp> rings;
  for (warp::PublishMaxOp x : row_from(op)) {
    if (auto current = x.getX().getDefiningOp<warp::CurrentOp>())
      rings.push_back(current.getRing().getDefiningOp<warp::RingOp>());
    else
      maxima.push_back(fmt::format("maximum({}, {})", expr(x.getX()), names_.of(x.getSlots())));
  }
  for (Copier copies : copiers_.of(rings, "published", [](warp::RingOp ring) { return !!maximum_of(ring); }))
    line("{}.publish_maxima({}{}, c);", copies.variable, warp::is_of_team(copies.ring.getResult()) ? "teams, " : "",
         warps_);
  if (!maxima.empty()) call("publish_maxima(block,", maxima);
}

std::string Emitter::largest_in(Value slots) {
  bool one = cast<MemRefType>(slots.getType()).getDimSize(0) == 1;
  return one ? "*" + names_.of(slots) : fmt::format("block_max({}, block)", names_.of(slots));
}

void Emitter::write(warp::StoreNumberOp op) {
  std::vector<std::string> numbers;
  for (Value x : op.getX()) numbers.push_back(names_.of(x));
  line("store_scale({}, {});", names_.of(op.getTo()),
       numbers.empty() ? "0.f" : fmt::format("{}", fmt::join(numbers, " + ")));
}

void Emitter::write(warp::StoreOp op) {
  auto buffer = op.getTile().getDefiningOp<warp::BufferOp>();
  // A scale that every warp knows is not stored with the tile.
  bool data_only = warp::has_scale(op.getX()) && buffer && !buffer.getScale();
  std::string to = op.getOwnRows() ? names_.of(op.getTile()) + ".rows<16>(row0)"
                                   : expressions_.columns(op.getTile(), op.getColumn(), op.getOwnColumns());
  line("store{}({}, {}{});", op.getOwnColumns() ? "_transposed" : "", to, expr(op.getX()), data_only ? ".data" : "");
}

void Emitter::write(warp::LoadVectorOp op) {
  std::string from = op.getOf() ? in_slot(*op.getOf() == "first" ? "0" : "round_end - 1 - first", op.getFrom())
                                : names_.of(op.getFrom());
  if (op.getColumn()) from += " + " + names_.of(op.getColumn());
  const char* kind = is_row(op.getType()) ? "row" : "column";
  if (op.getParts())
    line("const auto {} = load_{}_sum<{}>({}, {}, {});", declare(op.getResult()), kind, length(op.getType()), from,
         *op.getParts(), cast<MemRefType>(op.getFrom().getType()).getDimSize(0) / static_cast<int64_t>(*op.getParts()));
  else if (is_number(op.getType()))
    line("const auto {} = load_number({});", declare(op.getResult()), from);
  else
    line("const auto {} = load_{}<{}>({});", declare(op.getResult()), kind, length(op.getType()), from);
}

// In a kernel of teams: those of a chunk of the round, by its number in that.
std::string Emitter::in_slot(const std::string& chunk, Value floats) {
  return fmt::format("Slot<Slots>(block, {}).floats({})", chunk, place_of(floats));
}

// In a kernel of teams each slot has its own of what is used outside rounds.
std::vector<std::string> Emitter::in_all_slots(Value floats) {
  if (!has_teams()) return {names_.of(floats)};
  std::vector<std::string> all;
  for (int64_t chunk = 0; chunk < warp::round_chunks(kernel_); ++chunk)
    all.push_back(in_slot(std::to_string(chunk), floats));
  return all;
}

void Emitter::write(warp::JoinRowsOp op) {
  const std::string last = names_.of(op.getLast());
  line("if (c + 1 < round_end)");
  line("  store_row({0}, load_row<{1}>({0}) * load_row<{1}>({2}));", last,
       cast<MemRefType>(op.getLast().getType()).getDimSize(0), in_slot("c + 1 - first", op.getFirst()));
}

void Emitter::write(warp::LoadJoinedOp op) {
  line("const auto {} = load_row<{}>(Slot<Slots>(block, c > first ? c - 1 - first : 0).floats(c > first ? {} : {}));",
       declare(op.getResult()), length(op.getType()), place_of(op.getLast()), place_of(op.getFirst()));
}

void Emitter::write(warp::StoreVectorOp op) {
  bool outside = !op->getParentOfType<warp::SweepOp>() && !op->getParentOfType<warp::TeamOp>();
  for (const std::string& to : outside ? in_all_slots(op.getTo()) : std::vector{names_.of(op.getTo())})
    store_vector(op, to);
}

void Emitter::store_vector(warp::StoreVectorOp op, std::string to) {
  int64_t count = length(op.getX().getType());
  if (op.getPart())
    to += op.getColumn()
              ? fmt::format(" + {} * ({} / {})", count, names_.of(op.getColumn()), warp::slab_width(op.getColumn()))
              : fmt::format(" + {} * block.warp", count);
  else if (op.getColumn())
    to += " + " + names_.of(op.getColumn());
  const Type type = op.getX().getType();
  line("store_{}({}, {});", is_number(type) ? "number" : is_row(type) ? "row" : "column", to, expr(op.getX()));
}

void Emitter::write(warp::AddVectorOp op) {
  std::string to = names_.of(op.getTo()) + " + " + place(op.getColumn());
  const char* kind = op.getColumn() ? "row" : "column";
  line("store_{}({}, load_{}<{}>({}) + {});", kind, to, kind, length(op.getX().getType()), to, expr(op.getX()));
}

void Emitter::write(warp::TokensOp op) {
  std::string kind = is_row(op.getType()) ? "row" : "column", size = std::to_string(length(op.getType()));
  if (warp::is_in_strips(op)) {
    kind = "strip";
    size += fmt::format(", {}", warp::slab_width(cast<warp::SlabsOp>(op->getParentOp())));
  }
  line("const auto {} = load_tokens_{}<{}, {}>({}, block, {}LL * c, valid);", declare(op.getResult()), kind,
       dtype_text(op.getDtype()), size, tensor(op.getTensor()), kernel_.getChunk());
}

void Emitter::write(warp::StoreMatrixOp op) {
  const std::string dtype = is_folded(op.getDtype()) ? "" : "<" + dtype_text(op.getDtype()) + ">";
  line("store_outputs(args, c, valid, output{}({}, 0, {}));", dtype, output_rows_.at(op.getTensor().str()),
       expr(op.getX()));
}

void Emitter::write(warp::StoreTokensOp op) {
  if (kernel_.getPlain()) line("guard.see({});", expr(op.getX()));
  line("store_tokens<{}>({}, block, {}LL * c, valid, {});", dtype_text(op.getDtype()), tensor(op.getTensor()),
       kernel_.getChunk(), expr(op.getX()));
}

void Emitter::write(warp::StoreSumOp op) {
  std::string column = place(op.getColumn());
  const char* kind = op.getColumn() ? "row" : "column";
  std::vector<std::string> parts;
  for (const std::string& from : in_all_slots(op.getFrom()))
    parts.push_back(fmt::format("load_{}<16>({} + {})", kind, from, column));
  line("store_parameter_{}<f32>({}, block, {}, {});", kind, tensor(op.getTensor()), column, fmt::join(parts, " + "));
}

// The first of this warp's rows of the state before `chunk`, among those that the block keeps for a group in a
// workspace, or among all that were saved.
std::string Emitter::kept_row(llvm::StringRef name, std::string chunk) {
  if (in_rounds_ && !loop_) chunk = "first";  // of the round
  auto every = kernel_.getSavedEvery();
  if (chunk.find(' ') != chunk.npos) chunk = "(" + chunk + ")";
  std::string index = chunk;
  if (spec_of(name).role == Role::workspace)
    index = is_cut() ? fmt::format("({0} * block.segment + {1} % {0})", every, chunk)
                     : fmt::format("({} % {})", chunk, every);
  else if (every > 1)
    index = in_groups_ ? "g" : fmt::format("({} / {})", chunk, every);
  return fmt::format("{}LL * {} + row0", kernel_.getValueDim(), index);
}

// Returns the function that keeps a state in this dtype: "keep_state<bf16>".
std::string Emitter::keep(Type dtype) {
  return warp::fits_kept(dtype, kernel_.getPlain()) ? "keep_fitted_state"
                                                    : fmt::format("keep_state<{}>", dtype_text(dtype));
}

void Emitter::write(warp::StageStateOp op) {
  const bool fits = warp::fits_kept(cast<MemRefType>(op.getStaged().getType()).getElementType(), kernel_.getPlain());
  line("{}({}, {});", fits ? "stage_fitted_state" : "stage_state", expr(op.getX()), names_.of(op.getStaged()));
}

void Emitter::write(warp::StagedOp op) {
  auto type = cast<MemRefType>(op.getType());
  line("const auto {} = block.staged<{}, {}>({}, row0);", declare(op.getResult()), dtype_text(type.getElementType()),
       type.getDimSize(1), place_of(op.getResult()));
}

void Emitter::write(warp::CopySavedOp op) {
  if (op.getNext()) {
    line("if (g > {}) copy_kept_state({}, {}, block, {}LL * (g - 1) + row0);", lowest_group(),
         names_.of(op.getStaged()), tensor(op.getTensor()), kernel_.getValueDim());
    return;
  }
  bool backward = kernel_.getBackward();
  std::string chunk = chunk_ahead(backward, op.getAhead());
  auto copy_if = [&](const std::string& condition, llvm::StringRef name) {
    line("if ({}) copy_kept_state({}, {}, block, {});", condition, names_.of(op.getStaged()), tensor(name),
         kept_row(name, chunk));
  };
  copy_if(op.getFirstFrom() ? chunk + " > first" : is_in_loop(chunk, backward), op.getTensor());
  if (op.getFirstFrom()) copy_if(chunk + " == first", *op.getFirstFrom());
}

void Emitter::write(warp::LoadStagedOp op) {
  line("const auto {} = load_kept_state({});", declare(op.getResult()), names_.of(op.getStaged()));
}

void Emitter::write(warp::LoadSavedOp op) {
  auto type = cast<VectorType>(op.getType());
  line("const auto {} = load_kept_state<{}, {}>({}, block, {});", declare(op.getResult()),
       dtype_text(type.getElementType()), type.getDimSize(1), tensor(op.getTensor()), kept_row(op.getTensor(), "c"));
}

void Emitter::write(warp::KeepStateOp op) {
  std::string chunk = loop_ ? "c + 1" : "first";
  line("{}{}({}, {}, block, {});", op.getButLast() ? "if (" + chunk + " < last) " : "", keep(op.getDtype()),
       expr(op.getX()), tensor(op.getTensor()), kept_row(op.getTensor(), chunk));
}

void Emitter::write(warp::SaveStateOp op) {
  std::string condition = kernel_.getSavedEvery() == 1 ? "" : fmt::format("if (c % {} == 0) ", kernel_.getSavedEvery());
  const char* guard = kernel_.getPlain() && op.getDtype().isF16() ? "guard, " : "";
  line("{}{}({}{}, {}, block, {});", condition, keep(op.getDtype()), guard, expr(op.getX()), tensor(op.getTensor()),
       kept_row(op.getTensor(), "c"));
}

void Emitter::write(warp::StoreIntermediateOp op) {
  line("store_intermediate_state{}({}, {}, args, block, {}LL * (c + 1), row0);",
       intermediate_stored_as(spec_of(op.getTensor()), manifest_), expr(op.getX()), tensor(op.getTensor()),
       kernel_.getChunk());
}

void Emitter::write(warp::ParameterOp op) {
  const char* kind = warp::is_in_strips(op) ? "strip" : op.getColumn() ? "row" : "column";
  line("const auto {} = load_parameter_{}<{}, {}>({}, block, {});", declare(op.getResult()), kind,
       dtype_text(op.getDtype()), length(op.getType()), tensor(op.getTensor()), place(op.getColumn()));
}

void Emitter::write(warp::LoadStateOp op) {
  std::string name = declare(op.getResult());
  line("auto {} = zeros<{}>();", name, shape_text(op.getType()));
  line("load_state{}({}, {}, block, {});", stored_as(spec_of(op.getTensor())), name, tensor(op.getTensor()),
       state_row(op.getTensor()));
}

// The first of this warp's rows: of the sequence's state, or in a workspace of the segment's.
std::string Emitter::state_row(llvm::StringRef name) const {
  const TensorSpec& spec = spec_of(name);
  if (spec.role != Role::workspace) return "row0";
  return fmt::format("{}LL * block.segment + row0", spec.dims[3]);
}

void Emitter::write(warp::StartSummaryOp op) {
  line("const auto {} = start_summary<{}, {}, {}>(row0);", declare(op.getResult()), map_text(*kernel_.getSummary()),
       kernel_.getValueDim(), kernel_.getKeyDim());
}

void Emitter::write(warp::StoreStateOp op) {
  bool whole = is_cut() && !kernel_.getSummary();
  line("{}store_state{}({}, {}, block, {});", whole ? fmt::format("if (block.segment == {}) ", last_segment()) : "",
       stored_as(spec_of(op.getTensor())), expr(op.getX()), tensor(op.getTensor()), state_row(op.getTensor()));
}

void Emitter::write(warp::StoreOutputOp op) {
  std::vector<std::string> outputs;
  for (warp::StoreOutputOp out : row_from(op))
    outputs.push_back(fmt::format("output{}<{}>({}, {}, {})", out.getTransposed() ? "_transposed" : "",
                                  dtype_text(out.getDtype()), output_rows_.at(out.getTensor().str()),
                                  place(out.getColumn()), expr(out.getX())));
  call(kernel_.getPlain() ? "store_outputs(guard, args, c, valid," : "store_outputs(args, c, valid,", outputs);
}

}  // namespace wkvc
