// What the warp dialect refuses where a kernel declares its shared memory.
#include "tests/warp/cases.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

class Buffers : public testing::TestWithParam<Case> {};

TEST_P(Buffers, AreRefused) { expect_contains(error_of(with_buffers(GetParam().lines)), GetParam().error); }

const Case declarations[] = {
    {"Outside", "%0 = warp.buffer offset 7840 live 4 to 4 : !warp.tile<16x32xf32, shared>\n",
     "bytes 7840 to 10400 of 10256"},
    {"Unaligned", "%0 = warp.buffer offset 7848 live 4 to 4 : !warp.tile<16x16xf16, shared>\n",
     "offsets are multiples of 16"},
    {"Negative", "%0 = warp.buffer offset -16 live 4 to 4 : !warp.tile<16x16xf16, shared>\n", "the offset is -16"},
    {"Huge", "%0 = warp.buffer offset 9223372036854775792 live 4 to 4 : !warp.tile<16x16xf16, shared>\n",
     "expected 0 to 232448"},
    {"ScaleOutside", "%0 = warp.buffer offset 2704 scale 10256 live 4 to 4 : !warp.tile<16x16xf16, shared>\n",
     "bytes 10256 to 10260 of 10256"},
    {"ScaleNegative", "%0 = warp.buffer offset 2704 scale -16 live 4 to 4 : !warp.tile<16x16xf16, shared>\n",
     "the scale's offset is -16"},
    {"ScaleOfF32", "%0 = warp.buffer offset 2704 scale 7840 live 4 to 4 : !warp.tile<16x16xf32, shared>\n",
     "only f16 operands carry a scale"},
    {"SlabsOfNothing",
     "%0 = warp.buffer offset 2704 scale 7840 slabs tiles live 4 to 4 : !warp.tile<16x16xf16, shared>\n",
     "[rows, columns]"},
    {"SlabsWithoutScales", "%0 = warp.buffer offset 2704 slabs rows live 4 to 4 : !warp.tile<16x16xf16, shared>\n",
     "has slabs but no scales"},
    {"SlabScalesOverlapping",
     "%0 = warp.buffer offset 2704 scale 10240 slabs rows live 4 to 4 : !warp.tile<96x16xf16, shared>\n",
     "bytes 10240 to 10264 of 10256"},
    {"Overlapping", "%0 = warp.buffer offset 2704 live 1 to 4 : !warp.tile<16x16xf16, shared>\n",
     "overlap bytes 2704 to 5264"},
    {"OverlappingARing", "%0 = warp.buffer offset 2544 live 9 to 9 : !warp.tile<16x16xf16, shared>\n",
     "overlap bytes 0 to 2560"},
    {"ScaleOverlapping", "%0 = warp.buffer offset 7840 scale 6544 live 0 to 0 : !warp.tile<16x16xf16, shared>\n",
     "bytes"},
    {"Lifetime", "%0 = warp.buffer offset 7840 live 2 to 1 : !warp.tile<16x16xf16, shared>\n",
     "the last phase is 1; expected 2"},
    {"LifetimeNegative", "%0 = warp.floats offset 7840 live -1 to 1 : !warp.tile<16xf32, plain>\n",
     "the first phase is -1"},
    {"Space", "%0 = warp.buffer offset 7840 live 4 to 4 : !warp.tile<16x16xf16, fragments>\n",
     "must be tile in shared memory"},
    {"Layout", "%0 = warp.buffer offset 7840 live 4 to 4 : !warp.tile<16x16xf16, swizzled>\n",
     "a matrix does not lie as swizzled"},
    {"Dynamic", "%0 = warp.buffer offset 7840 live 4 to 4 : !warp.tile<?x16xf16, shared>\n", "expected static shape"},
    {"Size", "%0 = warp.buffer offset 7840 live 4 to 4 : !warp.tile<16x8xf16, shared>\n",
     "sizes in shared memory are multiples of 16"},
    {"HugeSize", "%0 = warp.buffer offset 0 live 4 to 4 : !warp.tile<4294967296x4294967296xf16, shared>\n",
     "sizes in shared memory are multiples of 16 up to 256"},
    {"FloatsHuge", "%0 = warp.floats offset 0 live 4 to 4 : !warp.tile<4611686018427387904xf32, plain>\n", "up to 256"},
    {"FloatsDtype", "%0 = warp.floats offset 7840 live 4 to 4 : !warp.tile<16xf16, plain>\n", "an array has floats"},
    {"RingOfAParameter", "%0 = warp.ring \"u\" offset 7840 stages 1 by 0 : !warp.tile<16x16xbf16, shared>\n",
     "expected input"},
    {"RingOfMatrices", "%0 = warp.ring \"k\" offset 7840 stages 1 by 0 : !warp.tile<16x32xbf16, matrices>\n",
     "only buffers lie as matrices"},
    {"RingOfAMatrix", "%0 = warp.ring \"M\" offset 7840 stages 1 by 0 : !warp.tile<16x32xf32, shared>\n",
     "a matrix of 16x32; expected 16x16"},
    {"RingOfNoWarp", "%0 = warp.ring \"k\" offset 7840 stages 1 by 2 : !warp.tile<16x32xbf16, shared>\n",
     "is copied by warp 2 of a block of 2"},
    {"RingWithoutStages", "%0 = warp.ring \"k\" offset 7840 stages 0 by 0 : !warp.tile<16x16xbf16, shared>\n",
     "the number of stages is 0"},
    {"RingOfManyStages",
     "%0 = warp.ring \"k\" offset 0 stages 4611686018427387904 by 0 : !warp.tile<16x16xbf16, shared>\n",
     "expected 1 to 16"},
    {"CurrentBeforeTheLoop", "%0 = warp.current %k_ring : !warp.tile<16x32xbf16, shared>\n",
     "is for the warps of a role to do"},
    {"KernelInAKernel",
     "warp.kernel \"inner\" for \"inner\" warps 1 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 16 x 16 "
     "shared 0 compute \"f16\" "
     "arch \"sm_90a\" tensors [] {\n  warp.note \"nothing\"\n}\n",
     "needs exactly 1 warp.role state"},
    {"SumInAKernel",
     "warp.batch_sum \"inner\" for \"inner\" chunk 16 head 16 x 16 compute \"f16\" arch \"sm_90a\" from \"du_parts\" "
     "to "
     "\"du\" over \"K\" as bf16\n",
     "can't be inside a warp.kernel"},
};

INSTANTIATE_TEST_SUITE_P(Warp, Buffers, testing::ValuesIn(declarations), name_of_case);

}  // namespace
}  // namespace wkvc::test
