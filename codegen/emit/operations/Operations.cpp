#include "codegen/emit/operations/Operations.h"

#include "codegen/emit/Batches.h"
#include "codegen/warp/Variables.h"

using namespace mlir;

namespace wkvc {

static const OperationWriters& all_writers() {
  static const OperationWriters writers = [] {
    OperationWriters all;
    for (auto add_group : {add_buffers, add_contractions, add_control, add_guards, add_inputs, add_numbers, add_outputs,
                           add_scales, add_states, add_sweeps, add_sync, add_tiles})
      add_group(all);
    return all;
  }();
  return writers;
}

void write_all(KernelText& text, llvm::iterator_range<Block::iterator> ops) {
  for (Operation& op : ops)
    if (!warp::is_inlined(&op) && !joins_last(op)) all_writers().write(text, op);
}

void write_body(KernelText& text, Region& region) {
  write_all(text, llvm::make_range(region.front().begin(), region.front().end()));
}

}  // namespace wkvc
