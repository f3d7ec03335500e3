// A guarded kernel refuses what f16 does not hold.
#include "codegen/nest/Guards.h"
#include "codegen/emit/Samples.h"
#include "codegen/ir/Text.h"
#include "codegen/nest/emit/Expressions.h"
#include "codegen/nest/emit/Operations.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

// Returns the elements of the first guard's tile, which the text gathers two at a time.
std::string seen_first(KernelOp kernel) {
  std::string seen;
  kernel.walk([&](GuardOp guard) {
    if (seen.empty()) seen = dtype_text(guard.getTile().getType().getElement());
  });
  return seen.empty() ? "f32" : seen;
}

void write_see(NestText& text, GuardOp guard) { text.line("guard.see({});", tile_text(text, guard.getTile())); }

}  // namespace

void write_guard(NestText& text) {
  if (!text.kernel.getExpects()) return;
  std::vector<std::string> samples;
  for (auto name : text.kernel.getExpects()->getAsValueRange<StringAttr>())
    samples.push_back(sample_text(text.tensors.of(name), text.manifest, "0, tokens"));
  text.line("Guard<{}> guard({}, block);", seen_first(text.kernel), text.tensors.of(refusals_of(text.kernel)).variable);
  text.lines.call("guard.expect(", samples);
  text.line("if (guard.refuses_samples()) return;");
}

void write_vote(NestText& text) {
  if (text.kernel.getExpects()) text.line("guard.tell_block<{}>();", text.manifest.warps);
}

void write_vote_on(NestText& text, StoreStateOp store) {
  if (!text.kernel.getExpects()) return;
  RoleOp role = role_of(store);
  text.line("if (guard.refuses_state<{}>({}, {})) return{};", text.manifest.warps, text.name(store.getTile()),
            first_warp_of(role), starts_stores(role) ? " await_stores()" : "");
}

void add_guards(OperationWriters& writers) { writers.add<GuardOp>(write_see); }

}  // namespace wkvc::nest
