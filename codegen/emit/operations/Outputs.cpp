// Loads from tensors without a ring, and stores to tensors token by token.
#include "codegen/emit/Batches.h"
#include "codegen/emit/operations/Operations.h"

using namespace mlir;

namespace wkvc {

static void write_parameter(KernelText& text, warp::ParameterOp op) {
  const char* kind = warp::is_in_strips(op.getResult()) ? "strip" : op.getColumn() ? "row" : "column";
  text.define(op.getResult(), fmt::format("load_parameter_{}<{}, {}>({}, block, {})", kind, dtype_text(op.getDtype()),
                                          length(op.getType()), text.tensor(op.getTensor()),
                                          text.expressions.first_of(op.getColumn())));
}

static void write_tokens(KernelText& text, warp::TokensOp op) {
  std::string kind = is_row(op.getType()) ? "row" : "column", size = std::to_string(length(op.getType()));
  if (warp::is_in_strips(op.getResult())) {
    kind = "strip";
    size += fmt::format(", {}", warp::slab_width(cast<warp::SlabsOp>(op->getParentOp())));
  }
  text.define(op.getResult(),
              fmt::format("load_tokens_{}<{}, {}>({}, block, {}LL * c, valid)", kind, dtype_text(op.getDtype()), size,
                          text.tensor(op.getTensor()), text.kernel.getChunk()));
}

static void write_store_tokens(KernelText& text, warp::StoreTokensOp op) {
  if (text.kernel.getPlain()) text.line("guard.see({});", text.expr(op.getX()));
  text.line("store_tokens<{}>({}, block, {}LL * c, valid, {});", dtype_text(op.getDtype()), text.tensor(op.getTensor()),
            text.kernel.getChunk(), text.expr(op.getX()));
}

static void write_store_matrix(KernelText& text, warp::StoreMatrixOp op) {
  const std::string dtype = is_folded(op.getDtype()) ? "" : "<" + dtype_text(op.getDtype()) + ">";
  text.line("store_outputs(args, c, valid, output{}({}, 0, {}));", dtype, text.tensors.of(op.getTensor()).rows,
            text.expr(op.getX()));
}

static void write_store_output(KernelText& text, warp::StoreOutputOp op) {
  std::vector<std::string> outputs;
  for (warp::StoreOutputOp out : row_from(op))
    outputs.push_back(fmt::format("output{}<{}>({}, {}, {})", out.getTransposed() ? "_transposed" : "",
                                  dtype_text(out.getDtype()), text.tensors.of(out.getTensor()).rows,
                                  text.expressions.first_of(out.getColumn()), text.expr(out.getX())));
  text.lines.call(text.kernel.getPlain() ? "store_outputs(guard, args, c, valid," : "store_outputs(args, c, valid,",
                  outputs);
}

void add_outputs(OperationWriters& writers) {
  writers.add(write_parameter);
  writers.add(write_tokens);
  writers.add(write_store_tokens);
  writers.add(write_store_matrix);
  writers.add(write_store_output);
}

}  // namespace wkvc
