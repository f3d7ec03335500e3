// The instructions of warp groups, tensor maps and their mbarriers: one function each, and nothing else.
#pragma once

#include "wkvc/cuda/ptx.h"
#include "wkvc/cuda/wgmma_numbers.h"

namespace wkvc::ptx {

// Dynamic shared memory, as the 128-byte swizzle wants it.
WKVC_INLINE char* swizzled_memory() {
  extern __shared__ __align__(1024) char wkvc_swizzled_memory[];
  return wkvc_swizzled_memory;
}

// ---- bulk copies of boxes {column, head, token, batch}
WKVC_INLINE void load_box(void* to, const BoxMap* map, u64* mbarrier, int column, int head, int token, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(mbarrier)), "r"(column), "r"(head), "r"(token), "r"(batch)
      : "memory");
}
WKVC_INLINE void store_box(const BoxMap* map, const void* from, int column, int head, int token, int batch) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(column), "r"(head), "r"(token), "r"(batch)
               : "memory");
}
WKVC_INLINE void commit_boxes() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until boxes that are stored have been read, or are there.
WKVC_INLINE void await_boxes_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
WKVC_INLINE void await_boxes() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// Arrives, and counts so many bytes that are to come.
WKVC_INLINE void mbarrier_expect(u64* word, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(word)), "r"(bytes) : "memory");
}

// ---- products of warp groups: c (64 x N, f32) = or += a (64 x 16, in registers or shared memory) · b (shared memory)
#define WKVC_FOUR(how, c) how((c).unit[0]), how((c).unit[1]), how((c).unit[2]), how((c).unit[3])
#define WKVC_BLOCK(how, c) WKVC_FOUR(how, c), how((c).unit[4]), how((c).unit[5]), how((c).unit[6]), how((c).unit[7])
#define WKVC_32(how, c) \
  WKVC_BLOCK(how, (c)[0]), WKVC_BLOCK(how, (c)[1]), WKVC_BLOCK(how, (c)[2]), WKVC_BLOCK(how, (c)[3])
#define WKVC_64(how, c) WKVC_32(how, c), WKVC_32(how, (c) + 4)
// One instruction: `how` outputs are bound, and whether c is added to.
#define WKVC_OF_REGISTERS(T, n, numbers, a0, a1, a2, a3, at, all, how, adds)                                  \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." #T "." #T " {" numbers "}, {%" #a0 ", %" #a1 \
               ", %" #a2 ", %" #a3 "}, %" #at ", " #adds ", 1, 1, %" WKVC_NEXT_##at ";"                       \
               : all(how, c)                                                                                  \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(Across))
#define WKVC_NEXT_36 "37"
#define WKVC_NEXT_68 "69"
#define WKVC_NEXT_33 "34"
#define WKVC_NEXT_65 "66"
#define WKVC_OF_SHARED(T, n, numbers, a, at, all, how, adds)                                                           \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." #T "." #T " {" numbers "}, %" #a ", %" #at ", " #adds \
               ", 1, 1, 0, %" WKVC_NEXT_##at ";"                                                                       \
               : all(how, c)                                                                                           \
               : "l"(rows), "l"(b), "n"(Across))
#define WKVC_ADDED(x) "+f"(x)
#define WKVC_MADE(x) "=f"(x)
// Across: b is 16 x N in memory, else N x 16. c has N / 16 blocks in the order of layout.h.
#define WKVC_PRODUCTS(T)                                                                                     \
  template <int N, bool Adds, int Across, class Block>                                                       \
  WKVC_INLINE void product(Block* c, const u32(&a)[4], u64 b, T) {                                           \
    static_assert(N == 64 || N == 128, "not written out");                                                   \
    if constexpr (N == 64 && Adds)                                                                           \
      WKVC_OF_REGISTERS(T, 64, WKVC_32_NUMBERS, 32, 33, 34, 35, 36, WKVC_32, WKVC_ADDED, 1);                 \
    if constexpr (N == 64 && !Adds)                                                                          \
      WKVC_OF_REGISTERS(T, 64, WKVC_32_NUMBERS, 32, 33, 34, 35, 36, WKVC_32, WKVC_MADE, 0);                  \
    if constexpr (N == 128 && Adds)                                                                          \
      WKVC_OF_REGISTERS(T, 128, WKVC_64_NUMBERS, 64, 65, 66, 67, 68, WKVC_64, WKVC_ADDED, 1);                \
    if constexpr (N == 128 && !Adds)                                                                         \
      WKVC_OF_REGISTERS(T, 128, WKVC_64_NUMBERS, 64, 65, 66, 67, 68, WKVC_64, WKVC_MADE, 0);                 \
  }                                                                                                          \
  template <int N, bool Adds, int Across, class Block>                                                       \
  WKVC_INLINE void product(Block* c, u64 rows, u64 b, T) {                                                   \
    static_assert(N == 64 || N == 128, "not written out");                                                   \
    if constexpr (N == 64 && Adds) WKVC_OF_SHARED(T, 64, WKVC_32_NUMBERS, 32, 33, WKVC_32, WKVC_ADDED, 1);   \
    if constexpr (N == 64 && !Adds) WKVC_OF_SHARED(T, 64, WKVC_32_NUMBERS, 32, 33, WKVC_32, WKVC_MADE, 0);   \
    if constexpr (N == 128 && Adds) WKVC_OF_SHARED(T, 128, WKVC_64_NUMBERS, 64, 65, WKVC_64, WKVC_ADDED, 1); \
    if constexpr (N == 128 && !Adds) WKVC_OF_SHARED(T, 128, WKVC_64_NUMBERS, 64, 65, WKVC_64, WKVC_MADE, 0); \
  }
WKVC_PRODUCTS(f16)
WKVC_PRODUCTS(bf16)
#undef WKVC_PRODUCTS
#undef WKVC_MADE
#undef WKVC_ADDED
#undef WKVC_OF_SHARED
#undef WKVC_NEXT_65
#undef WKVC_NEXT_33
#undef WKVC_NEXT_68
#undef WKVC_NEXT_36
#undef WKVC_OF_REGISTERS
#undef WKVC_64
#undef WKVC_32
#undef WKVC_BLOCK
#undef WKVC_FOUR

}  // namespace wkvc::ptx
