// What becomes of nests for a recurrence: the text, its manifest, and the code that ptxas makes of the text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "runtime/cuda/cubin.h"
#include "runtime/error.h"
#include "runtime/manifest/manifest.h"
#include "runtime/nvrtc/nvrtc.h"
#include "tests/nest/texts.h"

namespace wkvc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string emitted(std::string nest) { return lower_to(source_from(std::move(nest)), Stage::cuda, {}); }

std::string refusal_of(const std::string& nest) {
  try {
    emitted(nest);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(EmittedNest, ManifestSaysMapsAndSharedMemory) {
  const Manifest manifest = manifest_from(emitted(text_named("gdn_c64_forward")));
  EXPECT_EQ(manifest.op, "gated_delta_net");
  EXPECT_EQ(manifest.warps, 16);
  EXPECT_EQ(manifest.chunk, 64);
  EXPECT_LE(manifest.shared_bytes, 232448);
  EXPECT_THAT(manifest.maps, ElementsAre("q", "k", "v", "o"));
}

// The text of a nest stands at the stage warp.
TEST(EmittedNest, IsPrintedAsItWasRead) {
  const std::string nest = lower_to(source_from(text_named("gdn_c64_forward")), Stage::warp, {});
  EXPECT_EQ(emitted(nest), emitted(text_named("gdn_c64_forward")));
}

TEST(EmittedNest, ATileInPlaceWaitsForWhoReadsTheOneBefore) {
  const std::string text = emitted(text_named("gdn_c64_forward"));
  EXPECT_THAT(text, HasSubstr("      k.release(c);\n      k.await_release(c);\n      store_blocks(role, k16.at(c)"));
  EXPECT_THAT(text, HasSubstr("k16.acquire(c + 1);\n        load(k_tiles, k, c + 1);"));
}

TEST(EmittedNest, ATileThatItsRoleStoresIsReleasedBeforeTheNextOne) {
  const std::string text = emitted(text_named("gdn_c64_forward"));
  EXPECT_THAT(text,
              HasSubstr("      await_stores_read();\n      o.reacquire(c);\n      store_transposed(role, o.at(c)"));
  EXPECT_THAT(text, HasSubstr("    await_stores_read();\n    o.reacquire(chunks);\n"));
  EXPECT_THAT(text, HasSubstr(", c - 1, 64 * role.copy);"));
  EXPECT_THAT(text, testing::Not(HasSubstr("o.release(")));
}

// mma.sync waits for whole groups of wgmma of other warps.
TEST(EmittedNest, HasNoOtherProductsThanThoseOfWarpGroups) {
  std::string why_not;
  if (!nvrtc_available(&why_not)) GTEST_SKIP() << why_not;
  const std::string ptx = compile_ptx(emitted(text_named("gdn_c64_forward")), "sm_90a", {.aligned = true});
  EXPECT_THAT(ptx, testing::Not(HasSubstr("mma.sync")));
}

TEST(EmittedNest, OthersAreRefused) {
  const std::string nest = text_named("gdn_c64_forward");
  EXPECT_THAT(refusal_of(text_named("kda_c64_forward")), HasSubstr("is for no recurrence"));
  EXPECT_THAT(
      refusal_of(edited(nest, "%initial = nest.load_state \"initial_state\"", "%initial = nest.compute \"zero\"()")),
      HasSubstr("expected"));
  EXPECT_THAT(refusal_of(edited(nest, "nest.sweep \"chunks\" {", "nest.sweep \"chunks\" backward {")),
              HasSubstr("gets other chunks, or in another order"));
  EXPECT_THAT(refusal_of(edited(nest, "chunk 64 head 128 x 128 tensors", "chunk 64 head 128 x 128 tensor")),
              HasSubstr("expected"));
  EXPECT_THAT(refusal_of(edited(nest, "nest.tokens \"g\"", "nest.tokens \"decay\"")),
              HasSubstr("'decay' is not among its tensors"));
  EXPECT_THAT(refusal_of(edited(nest, "shared 232448", "shared 215000")), HasSubstr("give a channel less depth"));
}

// 512 threads begin with 128 registers each; roles give and take them. Nothing of a role is spilled, and ptxas
// serializes no products.
TEST(EmittedNest, CompilesWithoutSpills) {
  std::string why_not;
  if (!nvrtc_available(&why_not)) GTEST_SKIP() << why_not;
  const std::string text = emitted(text_named("gdn_c64_forward"));
  const CubinResult result = compile_cubin(text, "sm_90a", {.aligned = true});
  const CubinUsage usage = usage_from(result.log, "gdn_c64_forward");
  EXPECT_EQ(usage.registers, 128);
  EXPECT_EQ(usage.spill_stores, 0);
  EXPECT_EQ(usage.spill_loads, 0);
  EXPECT_EQ(usage.stack_bytes, 0);
  EXPECT_EQ(usage.static_shared, 0);
  EXPECT_THAT(result.log, testing::Not(HasSubstr("Performance Loss")));
  const std::string ptx = compile_ptx(text, "sm_90a", {.aligned = true});
  for (const char* instruction :
       {"setmaxnreg.inc.sync.aligned.u32 192", "setmaxnreg.dec.sync.aligned.u32 64",
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16",
        "cp.async.bulk.tensor.4d.shared::cluster.global", "stmatrix.sync.aligned"})
    EXPECT_THAT(ptx, HasSubstr(instruction));
}

}  // namespace
}  // namespace wkvc::test
