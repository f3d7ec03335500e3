// Kernels of one call: they sum gradients, or combine the summaries of segments.
#include <fmt/format.h>

#include "codegen/emit/Emit.h"
#include "codegen/emit/Header.h"
#include "codegen/ir/Text.h"

namespace wkvc {

std::string emit_cuda(warp::BatchSumOp kernel) {
  Manifest manifest = manifest_of(kernel);
  const std::string dtype = dtype_text(kernel.getDtype());
  const bool numbers = kernel.getDim() == "1";
  int64_t extent = kernel.getDim() == "K" ? kernel.getKeyDim() : kernel.getValueDim();
  const std::string call = numbers ? fmt::format("sum_tokens<{}>(args, args.tensor[1], args.tensor[0], block)", dtype)
                                   : fmt::format("sum_batches<{}, {}>(args, args.tensor[1], args.tensor[0], block, {})",
                                                 dtype, extent, kernel.getSegments());
  return fmt::format(
      "// {0}: sums gradients of a parameter over {3}, one block a head.\n{1}{4}WKVC_KERNEL({0}, 2, 1, 1) {{\n  "
      "{2};\n}}\n",
      manifest.kernel, to_line(manifest), call, numbers ? "all tokens" : "the batches", preamble(manifest));
}

std::string emit_cuda(warp::HeadSumOp kernel) {
  const Manifest manifest = manifest_of(kernel);
  const int64_t extent = kernel.getDim() == "K" ? kernel.getKeyDim() : kernel.getValueDim();
  const std::string dtype = dtype_text(kernel.getDtype());
  const std::string function = kernel.getDim() == "1" ? fmt::format("sum_head_numbers<{}>", dtype)
                                                      : fmt::format("sum_heads<{}, {}>", dtype, extent);
  return fmt::format(
      "// {0}: sums gradients of an input over {4} that share one.\n{1}{5}"
      "WKVC_KERNEL({0}, 2, {2}, 1) {{\n  {3}(args, args.tensor[1], args.tensor[0], "
      "block);\n}}\n",
      manifest.kernel, to_line(manifest), manifest.warps, function, kernel.getTerms(), preamble(manifest));
}

std::string emit_cuda(warp::CombineOp kernel) {
  Manifest manifest = manifest_of(kernel);
  const std::string storage = storage_of(manifest.tensors.front());
  const std::string behind = storage.empty() ? ">" : ", " + storage + ">";
  const std::string assertion =
      kernel.getMap() != "full" ? ""
                                : fmt::format("  static_assert(combining_bytes<{}, {}>({}) == {});\n", manifest.key_dim,
                                              kernel.getMapRows(), kernel.getStrips(), manifest.shared_bytes);
  return fmt::format(
      "// {0}: the state before each of {1} segments, from their summaries.\n{2}{9}"
      "WKVC_KERNEL({0}, 2, {3}, 1) {{\n{11}  combine_segments<{4}, {5}, {6}, "
      "{10}, {7}{8}(args.tensor[1], "
      "args.tensor[0], block);\n}}\n",
      manifest.kernel, kernel.getSegments(), to_line(manifest), manifest.warps, map_text(kernel.getMap()),
      manifest.value_dim, manifest.key_dim, kernel.getBackward() ? "true" : "false", behind, preamble(manifest),
      kernel.getMapRows(), assertion);
}

}  // namespace wkvc
