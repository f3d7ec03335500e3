// Which blocks of plain and refused kernels go on.
#include "codegen/emit/Samples.h"
#include "codegen/emit/operations/Operations.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc {

static void write_only_refused(KernelText& text, warp::OnlyRefusedOp op) {
  text.line("if (!is_refused({}, block)) return;", text.tensor(op.getTensor()));
}

// Returns the largest element in a sample of the tensor's tokens, of those that the block goes through.
static std::string largest_of_sample(KernelText& text, llvm::StringRef name) {
  const std::string tokens =
      text.traits.is_cut
          ? fmt::format(
                "first_token<{0}>(tokens_of(args, block), begin), first_token<{0}>(tokens_of(args, block), end)",
                text.kernel.getChunk())
          : "0, tokens_of(args, block)";
  return sample_text(text.tensors.of(name), text.manifest, tokens);
}

static void write_expected(KernelText& text, const std::string& start, ArrayAttr names) {
  std::vector<std::string> samples;
  for (auto name : names.getAsValueRange<StringAttr>()) samples.push_back(largest_of_sample(text, name));
  if (!samples.empty()) text.lines.call(start, samples);
}

static void write_expect(KernelText& text, warp::ExpectOp op) {
  std::string seen = "f32";
  text.kernel.walk([&](warp::StoreOutputOp store) { seen = dtype_text(store.getDtype()); });
  text.line("Guard<{}> guard({}, block);", seen, text.tensor(op.getTensor()));
  write_expected(text, "guard.expect(", op.getInputs());
  if (op.getUnit())
    write_expected(text, fmt::format("const float {} = guard.unit(", text.declare(op.getUnit())), op.getGradients());
  text.line("if (guard.refuses_samples()) return;");
}

static void write_refuse(KernelText& text, warp::RefuseOp op) {
  if (text.traits.is_cluster) {
    text.line("guard.tell_cluster<{}>({});", text.kernel.getCluster(), text.expr(op.getState()));
    write_meeting(text);
    text.line("if (guard.refuses_with_cluster()) return;");
    return;
  }
  text.line("if (guard.refuses_state<{}{}>({})) return;", warp::row_warps(text.kernel),
            text.traits.goes_ahead ? fmt::format(", {}", sm_90a.most_teams()) : "", text.expr(op.getState()));
}

void add_guards(OperationWriters& writers) {
  writers.add(write_only_refused);
  writers.add(write_expect);
  writers.add(write_refuse);
}

}  // namespace wkvc
