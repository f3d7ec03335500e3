// Values in registers, and sweeps, which carry them.
#include "codegen/nest/emit/Expressions.h"
#include "codegen/nest/emit/Operations.h"
#include "codegen/nest/emit/Types.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

// A sum that a product is added to, and nothing else has, is the product's variable from then on.
bool is_added_to(Value value) {
  if (!value.hasOneUse()) return false;
  auto issue = dyn_cast<IssueOp>(*value.user_begin());
  return issue && issue.getSum() == value;
}

void define(NestText& text, Value value, const std::string& expression) {
  text.line("{} {} = {};", is_added_to(value) ? "auto" : "const auto", text.declare(value), expression);
}

template <class Op>
void write_made(NestText& text, Op op) {
  define(text, op.getResult(), made_text(text, op));
}

void write_cumsum(NestText& text, CumsumOp op) {
  define(text, op.getResult(), fmt::format("cumsum({})", tile_text(text, op.getTile())));
}

void write_solve_diagonal(NestText& text, SolveDiagonalOp op) {
  const std::string inverses = text.declare(op.getResult(0)), left = text.declare(op.getResult(1));
  text.line("{} {}, {};", register_type(cast<TileType>(op.getResult(0).getType())), inverses, left);
  text.line("solve_diagonal(role, {}, block.floats({}), {}, {});", tile_text(text, op.getTile()), *op.getScratch(),
            inverses, left);
}

// A carried value has a variable of its own, which begins as the sweep does.
void declare_carried(NestText& text, SweepOp sweep) {
  for (auto [initial, carried] : llvm::zip_equal(sweep.getCarried(), sweep.getBody().getArguments()))
    text.line("auto {} = {};", text.declare(carried), tile_text(text, initial));
}

// Loads ahead of the first chunk.
void write_first_loads(NestText& text, SweepOp sweep) {
  uint64_t most = 0;
  for (LoadOp load : sweep.getBody().getOps<LoadOp>()) most = std::max<uint64_t>(most, load.getAhead());
  for (uint64_t chunk = 0; chunk < most; ++chunk) {
    text.line("if (role.warp == 0 && chunks > {}) {{", chunk);
    text.lines.open();
    for (LoadOp load : sweep.getBody().getOps<LoadOp>())
      if (chunk < load.getAhead()) write_load(text, load, std::to_string(chunk));
    text.lines.close();
  }
}

void write_sweep(NestText& text, SweepOp sweep) {
  declare_carried(text, sweep);
  write_first_loads(text, sweep);
  text.line("for (int c = 0; c < chunks; ++c) {{");
  {
    const NamesOfBlock names(text.names);
    text.lines.open();
    write_body(text, sweep.getBody());
    text.lines.close();
  }
  for (auto [result, carried] : llvm::zip_equal(sweep.getResults(), sweep.getBody().getArguments()))
    text.names.alias(result, carried);
}

void write_yield(NestText& text, YieldOp yield) {
  auto sweep = cast<SweepOp>(yield->getParentOp());
  for (auto [next, carried] : llvm::zip_equal(yield.getNext(), sweep.getBody().getArguments()))
    text.line("{} = {};", text.name(carried), text.name(next));
}

}  // namespace

void add_values(OperationWriters& writers) {
  writers.add<ConvertOp>(write_made);
  writers.add<CumsumOp>(write_cumsum);
  writers.add<DecayedPairsOp>(write_made);
  writers.add<DiagonalOp>(write_made);
  writers.add<ElementOp>(write_made);
  writers.add<ElementwiseOp>(write_made);
  writers.add<SolveDiagonalOp>(write_solve_diagonal);
  writers.add<SweepOp>(write_sweep);
  writers.add<YieldOp>(write_yield);
}

}  // namespace wkvc::nest
