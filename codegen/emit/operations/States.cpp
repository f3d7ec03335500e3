// States: those that a sequence or segment begins and ends with, and those that are saved, kept or staged in between.
#include "codegen/emit/ChunkNumber.h"
#include "codegen/emit/Surroundings.h"
#include "codegen/emit/operations/Operations.h"
#include "codegen/warp/KeptStates.h"

using namespace mlir;

namespace wkvc {

// Returns the number of the state before `chunk`, among the states that the block keeps for a group in a workspace, or
// among all saved states.
static std::string number_of_kept(KernelText& text, Operation* op, llvm::StringRef tensor, const ChunkNumber& chunk) {
  const auto every = text.kernel.getSavedEvery();
  std::string factor = chunk.in_product();
  if (text.tensors.of(tensor).spec.role == Role::workspace)
    return text.traits.is_cut ? fmt::format("({0} * block.segment + {1} % {0})", every, factor)
                              : fmt::format("({} % {})", factor, every);
  if (every == 1) return factor;
  return is_in_groups(op) ? "g" : fmt::format("({} / {})", factor, every);
}

// Returns the first of this warp's rows of the state before `chunk`, or before the round outside loops over chunks.
static std::string kept_row(KernelText& text, Operation* op, llvm::StringRef tensor, const ChunkNumber& chunk) {
  const bool of_round = is_in_rounds(op) && !loop_around(op);
  return fmt::format("{}LL * {} + row0", text.kernel.getValueDim(),
                     number_of_kept(text, op, tensor, of_round ? ChunkNumber{"first"} : chunk));
}

// Returns the function that keeps a state in this dtype: "keep_state<bf16>".
static std::string keep(KernelText& text, Type dtype) {
  return warp::fits_kept(dtype, text.kernel.getPlain()) ? "keep_fitted_state"
                                                        : fmt::format("keep_state<{}>", dtype_text(dtype));
}

static void write_staged(KernelText& text, warp::StagedOp op) {
  auto type = cast<warp::TileType>(op.getType());
  text.define(op.getResult(), fmt::format("block.staged<{}, {}>({}, row0)", dtype_text(type.getElementType()),
                                          type.getDimSize(1), text.place_of(op.getResult())));
}

static void write_stage_state(KernelText& text, warp::StageStateOp op) {
  const Type dtype = cast<warp::TileType>(op.getStaged().getType()).getElementType();
  text.line("{}({}, {});", warp::fits_kept(dtype, text.kernel.getPlain()) ? "stage_fitted_state" : "stage_state",
            text.expr(op.getX()), text.names.of(op.getStaged()));
}

static void copy_next_saved(KernelText& text, warp::CopySavedOp op) {
  text.line("if (g > {}) copy_kept_state({}, {}, block, {}LL * (g - 1) + row0);",
            lowest_group(text.kernel, text.traits), text.names.of(op.getStaged()), text.tensor(op.getTensor()),
            text.kernel.getValueDim());
}

static void write_copy_saved(KernelText& text, warp::CopySavedOp op) {
  if (op.getNext()) return copy_next_saved(text, op);
  const bool backward = text.kernel.getBackward();
  const ChunkNumber chunk = chunk_ahead(text.traits, op, backward, op.getAhead());
  const auto copy_if = [&](const std::string& condition, llvm::StringRef name) {
    text.line("if ({}) copy_kept_state({}, {}, block, {});", condition, text.names.of(op.getStaged()),
              text.tensor(name), kept_row(text, op, name, chunk));
  };
  copy_if(op.getFirstFrom() ? chunk.text + " > first" : is_in_loop(text.traits, op, chunk, backward), op.getTensor());
  if (op.getFirstFrom()) copy_if(chunk.text + " == first", *op.getFirstFrom());
}

static void write_load_staged(KernelText& text, warp::LoadStagedOp op) {
  text.define(op.getResult(), fmt::format("load_kept_state({})", text.names.of(op.getStaged())));
}

static void write_load_saved(KernelText& text, warp::LoadSavedOp op) {
  auto type = cast<warp::TileType>(op.getType());
  text.define(op.getResult(),
              fmt::format("load_kept_state<{}, {}>({}, block, {})", dtype_text(type.getElementType()),
                          type.getDimSize(1), text.tensor(op.getTensor()), kept_row(text, op, op.getTensor(), {"c"})));
}

static void write_keep_state(KernelText& text, warp::KeepStateOp op) {
  const ChunkNumber chunk = loop_around(op) ? ChunkNumber{"c + 1", true} : ChunkNumber{"first"};
  text.line("{}{}({}, {}, block, {});", op.getButLast() ? "if (" + chunk.text + " < last) " : "",
            keep(text, op.getDtype()), text.expr(op.getX()), text.tensor(op.getTensor()),
            kept_row(text, op, op.getTensor(), chunk));
}

static void write_save_state(KernelText& text, warp::SaveStateOp op) {
  const auto every = text.kernel.getSavedEvery();
  const std::string condition = every == 1 ? "" : fmt::format("if (c % {} == 0) ", every);
  const char* guard = text.kernel.getPlain() && op.getDtype().isF16() ? "guard, " : "";
  text.line("{}{}({}{}, {}, block, {});", condition, keep(text, op.getDtype()), guard, text.expr(op.getX()),
            text.tensor(op.getTensor()), kept_row(text, op, op.getTensor(), {"c"}));
}

static void write_store_intermediate(KernelText& text, warp::StoreIntermediateOp op) {
  const NamedTensor& tensor = text.tensors.of(op.getTensor());
  text.line("store_intermediate_state{}({}, {}, args, block, {}LL * (c + 1), row0);",
            intermediate_stored_as(tensor.spec, text.manifest), text.expr(op.getX()), tensor.variable,
            text.kernel.getChunk());
}

// Returns the first of this warp's rows: of the sequence's state, or in a workspace of the segment's.
static std::string state_row(const TensorSpec& spec) {
  return spec.role == Role::workspace ? fmt::format("{}LL * block.segment + row0", spec.dims[3]) : "row0";
}

static void write_load_state(KernelText& text, warp::LoadStateOp op) {
  const NamedTensor& tensor = text.tensors.of(op.getTensor());
  const std::string name = text.declare(op.getResult());
  text.line("auto {} = zeros<{}>();", name, shape_text(op.getType()));
  text.line("load_state{}({}, {}, block, {});", stored_as(tensor.spec), name, tensor.variable, state_row(tensor.spec));
}

static void write_start_summary(KernelText& text, warp::StartSummaryOp op) {
  text.define(op.getResult(), fmt::format("start_summary<{}, {}, {}>(row0)", map_text(*text.kernel.getSummary()),
                                          text.kernel.getValueDim(), text.kernel.getKeyDim()));
}

static void write_store_state(KernelText& text, warp::StoreStateOp op) {
  const NamedTensor& tensor = text.tensors.of(op.getTensor());
  const bool whole = text.traits.is_cut && !text.kernel.getSummary();
  text.line("{}store_state{}({}, {}, block, {});",
            whole ? fmt::format("if (block.segment == {}) ", text.traits.last_segment) : "", stored_as(tensor.spec),
            text.expr(op.getX()), tensor.variable, state_row(tensor.spec));
}

void add_states(OperationWriters& writers) {
  writers.add(write_staged);
  writers.add(write_stage_state);
  writers.add(write_copy_saved);
  writers.add(write_load_staged);
  writers.add(write_load_saved);
  writers.add(write_keep_state);
  writers.add(write_save_state);
  writers.add(write_store_intermediate);
  writers.add(write_load_state);
  writers.add(write_start_summary);
  writers.add(write_store_state);
}

}  // namespace wkvc
