// Every instruction and special register that the cuda target uses, one function each, and nothing else.
#pragma once

#include "wkvc/common/dtype.h"
#include "wkvc/cuda/wgmma_numbers.h"

#define WKVC_INLINE __device__ __forceinline__
#define WKVC_OUTLINE __device__ __noinline__
#define WKVC_UNROLL _Pragma("unroll")
#define WKVC_NO_UNROLL _Pragma("unroll 1")
#define WKVC_INLINE_LAMBDA __attribute__((always_inline))

namespace wkvc::ptx {

inline constexpr u32 kAllLanes = 0xffffffffu;

// ---- where this thread is
WKVC_INLINE int thread() { return static_cast<int>(threadIdx.x); }
WKVC_INLINE int lane() { return static_cast<int>(threadIdx.x % 32); }
WKVC_INLINE u32 block_index() { return blockIdx.x; }

WKVC_INLINE char* shared_memory() {
  extern __shared__ __align__(128) char wkvc_shared_memory[];
  return wkvc_shared_memory;
}
// Number `N` of the words beside it, in kernels that use it.
template <int N>
WKVC_INLINE volatile int* shared_word() {
  __shared__ int word;
  return &word;
}

WKVC_INLINE u32 shared_address(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }

// The same address of global memory, of which the compiler does not know how it was made.
WKVC_INLINE void* kept_apart(const void* address) {
  unsigned long long global = __cvta_generic_to_global(address);
  asm("" : "+l"(global));
  return __cvta_global_to_generic(global);
}

// `count` times `bytes` behind an address of global memory, in one instruction.
WKVC_INLINE void* behind(const void* address, int count, int bytes) {
  unsigned long long global = __cvta_generic_to_global(address);
  asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(global) : "r"(count), "r"(bytes));
  return __cvta_global_to_generic(global);
}
// A number that the compiler keeps from here on, instead of making it again for each use.
WKVC_INLINE int kept(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

// ---- the kernels before and behind this one, of one launch (PTX ISA, griddepcontrol)
WKVC_INLINE void let_next_kernel_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
WKVC_INLINE void await_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// ---- lanes of a warp
WKVC_INLINE float shuffle(float x, int source) { return __shfl_sync(kAllLanes, x, source); }
WKVC_INLINE int shuffle(int x, int source) { return __shfl_sync(kAllLanes, x, source); }
// Returns x of lane `source` of this lane's half of the warp.
WKVC_INLINE float shuffle_in_half(float x, int source) { return __shfl_sync(kAllLanes, x, source, 16); }
WKVC_INLINE float shuffle_up(float x, int lanes) { return __shfl_up_sync(kAllLanes, x, static_cast<u32>(lanes)); }
WKVC_INLINE float shuffle_down(float x, int lanes) { return __shfl_down_sync(kAllLanes, x, static_cast<u32>(lanes)); }
WKVC_INLINE float shuffle_xor(float x, int mask) { return __shfl_xor_sync(kAllLanes, x, mask); }
WKVC_INLINE u32 shuffle_xor(u32 x, int mask) { return __shfl_xor_sync(kAllLanes, x, mask); }
WKVC_INLINE u32 ballot(bool flag) { return __ballot_sync(kAllLanes, flag); }
WKVC_INLINE u32 reduce_max(u32 x) { return __reduce_max_sync(kAllLanes, x); }
// Of each pair of 16-bit floats the one with the larger magnitude, whose sign means nothing. NaN does not count.
WKVC_INLINE u32 larger_magnitudes(u32 x, u32 y, f16) {
  u32 z;
  asm("max.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
  return z;
}
WKVC_INLINE u32 larger_magnitudes(u32 x, u32 y, bf16) {
  u32 z;
  asm("max.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
  return z;
}
WKVC_INLINE u32 multiply_f16(u32 x, u32 y) {
  u32 z;
  asm("mul.f16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
  return z;
}
WKVC_INLINE u32 multiply_bf16(u32 x, u32 y) {
  u32 z;
  asm("mul.bf16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
  return z;
}
WKVC_INLINE u32 multiply_add_f16(u32 x, u32 y, u32 z) {
  u32 sum;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(y), "r"(z));
  return sum;
}
WKVC_INLINE u32 multiply_add_bf16(u32 x, u32 y, u32 z) {
  u32 sum;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(y), "r"(z));
  return sum;
}
WKVC_INLINE void sync_warp() { __syncwarp(); }

// Transposes an 8x8 matrix of 16-bit elements, two a lane.
WKVC_INLINE u32 transpose_8x8(u32 x) {
  u32 y;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}

// ---- bits
WKVC_INLINE u32 bits_of(float x) { return __float_as_uint(x); }
WKVC_INLINE float float_of(u32 bits) { return __uint_as_float(bits); }
WKVC_INLINE u32 low_halves(u32 x, u32 y) { return __byte_perm(x, y, 0x5410); }
WKVC_INLINE u32 high_halves(u32 x, u32 y) { return __byte_perm(x, y, 0x7632); }

// ---- conversions, round to nearest even; `low` lands in the low half
WKVC_INLINE u32 pack_f16(float low, float high) {
  u32 y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  return y;
}
WKVC_INLINE u32 pack_bf16(float low, float high) {
  u32 y;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  return y;
}
WKVC_INLINE float widen_f16(unsigned short bits) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(bits));
  return y;
}
WKVC_INLINE float round_tf32(float x) {
  u32 y;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return float_of(y);
}
// What the tensor core reads of an f32 as tf32.
inline constexpr u32 kTf32Bits = 0xffffe000u;

// ---- arithmetic; the approximations are good to 2 ulp and flush subnormal numbers
WKVC_INLINE float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
WKVC_INLINE float rcp(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
WKVC_INLINE float sqrt(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
WKVC_INLINE float max_or_nan(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

// ---- shared memory to registers and back; `row` is the address of the 8 elements this lane names
WKVC_INLINE void ldmatrix(u32 (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}
WKVC_INLINE void ldmatrix_trans(u32 (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}
WKVC_INLINE void stmatrix(void* row, const u32 (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(r[0]),
               "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}
WKVC_INLINE void stmatrix_trans(void* row, const u32 (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

// ---- tensor cores: c (16x8) += a (16x16, or 16x8: half) · b
WKVC_INLINE void mma_f16(float* c, const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
WKVC_INLINE void mma_bf16(float* c, const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
WKVC_INLINE void mma_f16_half(float* c, u32 a0, u32 a1, u32 b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a0), "r"(a1), "r"(b));
}
WKVC_INLINE void mma_bf16_half(float* c, u32 a0, u32 a1, u32 b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a0), "r"(a1), "r"(b));
}
WKVC_INLINE void mma_tf32(float* c, const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// ---- warp groups: registers of each thread from here on
template <int Count>
WKVC_INLINE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count>
WKVC_INLINE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

// ---- warp groups: c (64 x N, 16 rows of each of four warps) += a (64x16) · b, whose descriptor says where it lies
// Between what these warps did with their registers before, and what is started next. The compiler does not know that
// sums are there only once they have been waited for: it is to keep each where it is, before and after.
WKVC_INLINE void stay_here(float& x) { asm volatile("" : "+f"(x)::"memory"); }
WKVC_INLINE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
WKVC_INLINE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
WKVC_INLINE void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
// c: N / 16 blocks in the order of layout.h; b is N x 16, or 16 x N.
#define WKVC_BLOCK(c)                                                                                               \
  "+f"((c).unit[0]), "+f"((c).unit[1]), "+f"((c).unit[2]), "+f"((c).unit[3]), "+f"((c).unit[4]), "+f"((c).unit[5]), \
      "+f"((c).unit[6]), "+f"((c).unit[7])
#define WKVC_WGMMA(T)                                                                                        \
  template <class Block>                                                                                     \
  WKVC_INLINE void wgmma_n16(Block* c, const u32(&a)[4], u64 b, T) {                                         \
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32." #T "." #T                                     \
                 " {%0, %1, %2, %3, %4, %5, %6, %7}, "                                                       \
                 "{%8, %9, %10, %11}, %12, 1, 1, 1, 0;"                                                      \
                 : WKVC_BLOCK(c[0])                                                                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                      \
  }                                                                                                          \
  template <class Block>                                                                                     \
  WKVC_INLINE void wgmma_n64_trans(Block* c, const u32(&a)[4], u64 b, T) {                                   \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." #T "." #T " {" WKVC_32_NUMBERS                \
                 "}, "                                                                                       \
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"                                                    \
                 : WKVC_BLOCK(c[0]), WKVC_BLOCK(c[1]), WKVC_BLOCK(c[2]), WKVC_BLOCK(c[3])                    \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                      \
  }                                                                                                          \
  template <class Block>                                                                                     \
  WKVC_INLINE void wgmma_n128_trans(Block* c, const u32(&a)[4], u64 b, T) {                                  \
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." #T "." #T " {" WKVC_64_NUMBERS               \
                 "}, "                                                                                       \
                 "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"                                                    \
                 : WKVC_BLOCK(c[0]), WKVC_BLOCK(c[1]), WKVC_BLOCK(c[2]), WKVC_BLOCK(c[3]), WKVC_BLOCK(c[4]), \
                   WKVC_BLOCK(c[5]), WKVC_BLOCK(c[6]), WKVC_BLOCK(c[7])                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                      \
  }
WKVC_WGMMA(f16)
WKVC_WGMMA(bf16)
#undef WKVC_WGMMA
#undef WKVC_BLOCK

// ---- the shared memory of other blocks of the cluster
WKVC_INLINE u32 address_in_block(u32 shared, int rank) {
  u32 address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}
// Threads of other blocks may store the same word at the same time.
WKVC_INLINE void store_in_cluster(u32 address, int x) {
  asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}
// Copies to shared memory of a block, by addresses there; what it brings counts as transactions at `mbarrier` there.
WKVC_INLINE void bulk_copy(u32 to, u32 from, u32 bytes, u32 mbarrier) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "r"(from), "r"(bytes), "r"(mbarrier)
               : "memory");
}
// What this thread has written to shared memory comes before bulk copies, and reading by warp groups, that are started
// behind a barrier.
WKVC_INLINE void fence_async_reads() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Without the wait for stores to global memory that a release for the whole cluster takes: for those who have only read
// what others may overwrite then, and for copies that mbarriers count by themselves.
WKVC_INLINE void mbarrier_arrive_at(u32 address) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(address) : "memory");
}
WKVC_INLINE void mbarrier_arrive_expecting(u32 address, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%0], %1;" ::"r"(address), "r"(bytes) : "memory");
}

// ---- asynchronous copies
// Reads `bytes` (0 or 16) and fills up with zeros.
WKVC_INLINE void cp_async_16(void* shared, const void* global, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}
WKVC_INLINE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending>
WKVC_INLINE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// ---- barriers
WKVC_INLINE void barrier() { __syncthreads(); }
WKVC_INLINE void cluster_barrier() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}
// A constant id: with one in a register the kernel would reserve all 16 barriers.
template <int Id>
WKVC_INLINE void named_barrier(int threads) {
  asm volatile("bar.sync %0, %1;" ::"n"(Id), "r"(threads) : "memory");
}
// Whether any of the threads says so.
template <int Id>
WKVC_INLINE bool named_barrier_any(int threads, bool flag) {
  u32 any;
  asm volatile(
      "{\n .reg .pred p, q;\n"
      " setp.ne.u32 p, %1, 0;\n"
      " bar.red.or.pred q, %2, %3, p;\n"
      " selp.u32 %0, 1, 0, q;\n}"
      : "=r"(any)
      : "r"(static_cast<u32>(flag)), "n"(Id), "r"(threads)
      : "memory");
  return any != 0;
}
WKVC_INLINE void mbarrier_init(u64* word, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(word)), "r"(arrivals) : "memory");
}
// Before a barrier of the cluster: other blocks may then use what was initialized.
WKVC_INLINE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
WKVC_INLINE void mbarrier_arrive(u64* word) {
  asm volatile("mbarrier.arrive.release.cta.shared.b64 _, [%0];" ::"r"(shared_address(word)) : "memory");
}
WKVC_INLINE bool mbarrier_try_wait(u64* word, int parity) {
  u32 done;
  asm volatile(
      "{\n .reg .pred p;\n"
      " mbarrier.try_wait.parity.acquire.cta.shared.b64 p, [%1], %2;\n"
      " selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(shared_address(word)), "r"(parity)
      : "memory");
  return done != 0;
}

}  // namespace wkvc::ptx
