// What the warp dialect refuses where a kernel declares its shared memory.
#include "tests/warp/cases.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

class Buffers : public testing::TestWithParam<Case> {};

TEST_P(Buffers, AreRefused) { expect_contains(error_of(with_buffers(GetParam().lines)), GetParam().error); }

const Case declarations[] = {
    {"Outside", "%0 = warp.buffer offset 7840 live 4 to 4 : memref<16x32xf32, 3>\n", "bytes 7840 to 10400 of 10256"},
    {"Unaligned", "%0 = warp.buffer offset 7848 live 4 to 4 : memref<16x16xf16, 3>\n", "offsets are multiples of 16"},
    {"Negative", "%0 = warp.buffer offset -16 live 4 to 4 : memref<16x16xf16, 3>\n", "the offset is -16"},
    {"Huge", "%0 = warp.buffer offset 9223372036854775792 live 4 to 4 : memref<16x16xf16, 3>\n",
     "expected 0 to 232448"},
    {"ScaleOutside", "%0 = warp.buffer offset 2704 scale 10256 live 4 to 4 : memref<16x16xf16, 3>\n",
     "bytes 10256 to 10260 of 10256"},
    {"ScaleNegative", "%0 = warp.buffer offset 2704 scale -16 live 4 to 4 : memref<16x16xf16, 3>\n",
     "the scale's offset is -16"},
    {"ScaleOfF32", "%0 = warp.buffer offset 2704 scale 7840 live 4 to 4 : memref<16x16xf32, 3>\n",
     "only f16 operands carry a scale"},
    {"SlabsOfNothing", "%0 = warp.buffer offset 2704 scale 7840 slabs tiles live 4 to 4 : memref<16x16xf16, 3>\n",
     "[rows, columns]"},
    {"SlabsWithoutScales", "%0 = warp.buffer offset 2704 slabs rows live 4 to 4 : memref<16x16xf16, 3>\n",
     "has slabs but no scales"},
    {"SlabScalesOverlapping",
     "%0 = warp.buffer offset 2704 scale 10240 slabs rows live 4 to 4 : memref<96x16xf16, 3>\n",
     "bytes 10240 to 10264 of 10256"},
    {"Overlapping", "%0 = warp.buffer offset 2704 live 1 to 4 : memref<16x16xf16, 3>\n", "overlap bytes 2704 to 5264"},
    {"OverlappingARing", "%0 = warp.buffer offset 2544 live 9 to 9 : memref<16x16xf16, 3>\n",
     "overlap bytes 0 to 2560"},
    {"ScaleOverlapping", "%0 = warp.buffer offset 7840 scale 6544 live 0 to 0 : memref<16x16xf16, 3>\n", "bytes"},
    {"Lifetime", "%0 = warp.buffer offset 7840 live 2 to 1 : memref<16x16xf16, 3>\n",
     "the last phase is 1; expected 2"},
    {"LifetimeNegative", "%0 = warp.floats offset 7840 live -1 to 1 : memref<16xf32, 3>\n", "the first phase is -1"},
    {"Space", "%0 = warp.buffer offset 7840 live 4 to 4 : memref<16x16xf16>\n", "in memory space 3"},
    {"Layout", "%0 = warp.buffer offset 7840 live 4 to 4 : memref<16x16xf16, strided<[1, 16]>, 3>\n",
     "shared tiles are contiguous"},
    {"Dynamic", "%0 = warp.buffer offset 7840 live 4 to 4 : memref<?x16xf16, 3>\n", "their sizes multiples of 16"},
    {"Size", "%0 = warp.buffer offset 7840 live 4 to 4 : memref<16x8xf16, 3>\n", "their sizes multiples of 16"},
    {"HugeSize", "%0 = warp.buffer offset 0 live 4 to 4 : memref<4294967296x4294967296xf16, 3>\n",
     "their sizes multiples of 16 up to 256"},
    {"FloatsHuge", "%0 = warp.floats offset 0 live 4 to 4 : memref<4611686018427387904xf32, 3>\n", "up to 256"},
    {"FloatsDtype", "%0 = warp.floats offset 7840 live 4 to 4 : memref<16xf16, 3>\n", "memref of 32-bit float"},
    {"RingOfAParameter", "%0 = warp.ring \"u\" offset 7840 stages 1 by 0 : memref<16x16xbf16, 3>\n", "expected input"},
    {"RingOfAMatrix", "%0 = warp.ring \"M\" offset 7840 stages 1 by 0 : memref<16x32xf32, 3>\n",
     "a matrix of 16x32; expected 16x16"},
    {"RingOfNoWarp", "%0 = warp.ring \"k\" offset 7840 stages 1 by 2 : memref<16x32xbf16, 3>\n",
     "is copied by warp 2 of a block of 2"},
    {"RingWithoutStages", "%0 = warp.ring \"k\" offset 7840 stages 0 by 0 : memref<16x16xbf16, 3>\n",
     "the number of stages is 0"},
    {"RingOfManyStages", "%0 = warp.ring \"k\" offset 0 stages 4611686018427387904 by 0 : memref<16x16xbf16, 3>\n",
     "expected 1 to 16"},
    {"CurrentBeforeTheLoop", "%0 = warp.current %k_ring : memref<16x32xbf16, 3>\n", "is for the warps of a role to do"},
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
