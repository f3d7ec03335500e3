// Operations on tiles in registers, apart from contractions.
#include "codegen/emit/operations/Operations.h"
#include "codegen/warp/Variables.h"

using namespace mlir;

namespace wkvc {

static void write_call(KernelText& text, warp::CallOp op) {
  text.line("{}auto {} = {};", warp::is_accumulator(op.getResult()) ? "" : "const ", text.declare(op.getResult()),
            text.expressions.statement(op));
}

static void write_decaying(KernelText& text, warp::DecayingOp op) {
  text.define(op.getResult(),
              fmt::format("decaying({}{})", text.expr(op.getX()), op.getRow() ? ", " + text.expr(op.getRow()) : ""));
}

static void write_settled(KernelText& text, warp::SettledOp op) {
  text.define(op.getResult(), fmt::format("settled({})", text.expr(op.getX())));
}

static void write_unit_lower_inverse(KernelText& text, warp::UnitLowerInverseOp op) {
  const std::string inverse = text.declare(op.getResult());
  text.line("// {} = (1 - {})^-1", inverse, text.expr(op.getX()));
  text.line("const auto {} = unit_lower_inverse<{}>({}, {});", inverse, op.getDtype().str(), text.expr(op.getX()),
            text.names.of(op.getScratch()));
}

static void write_round(KernelText& text, warp::RoundOp op) {
  text.define(op.getResult(), text.expressions.statement(op));
}

static void write_round_beside(KernelText& text, warp::RoundBesideOp op) {
  const std::string x = text.expressions.operand(op.getX(), {}, op.getScale(), /*transposed=*/false);
  const Type element = cast<warp::TileType>(op.getType()).getElementType();
  text.define(op.getResult(), fmt::format("round_beside<{}>({}, {}, {})", dtype_text(element), x,
                                          text.expr(op.getState()), text.names.of(op.getOther())));
}

static void write_transpose(KernelText& text, warp::TransposeOp op) {
  text.define(op.getResult(), fmt::format("transpose({})", text.expr(op.getX())));
}

static void write_widen(KernelText& text, warp::WidenOp op) {
  std::string x = text.expr(op.getX());
  if (op.getScale()) x = fmt::format("scaled({}, {})", x, text.expr(op.getScale()));
  text.define(op.getResult(), fmt::format("widen({})", x));
}

static void write_widen_over(KernelText& text, warp::WidenOverOp op) {
  text.define(op.getResult(), fmt::format("widen_over({}, {})", text.expr(op.getX()), text.names.of(op.getScale())));
}

void add_tiles(OperationWriters& writers) {
  writers.add(write_call);
  writers.add(write_decaying);
  writers.add(write_settled);
  writers.add(write_unit_lower_inverse);
  writers.add(write_round);
  writers.add(write_round_beside);
  writers.add(write_transpose);
  writers.add(write_widen);
  writers.add(write_widen_over);
}

}  // namespace wkvc
