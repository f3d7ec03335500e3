// The functions of templates/wkvc/cuda/ptx.h, computed from what the PTX manual says each instruction does.
// Found before the real one on the include path, it turns the cuda target into a program for lanes/machine.h.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lanes/machine.h"
#include "wkvc/common/dtype.h"
#include "wkvc/host/barrier.h"
#include "wkvc/host/convert.h"

#define WKVC_INLINE inline
#define WKVC_OUTLINE inline
#define WKVC_UNROLL
#define WKVC_NO_UNROLL
#define WKVC_INLINE_LAMBDA
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)

struct alignas(8) float2 {
  float x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace wkvc::ptx {

using lanes_machine::Machine;
using lanes_machine::Mail;

inline int thread() { return Machine::current().thread(); }
inline int lane() { return thread() % 32; }
inline u32 block_index() { return Machine::current().block(); }
inline void let_next_kernel_begin() {}  // kernels run one after the other
inline void await_kernel_before() {}
inline char* shared_memory() { return Machine::current().shared_memory(); }
template <int N>
volatile int* shared_word() {
  return Machine::current().shared_words() + N;
}

inline void* behind(const void* address, int count, int bytes) {
  return const_cast<char*>(static_cast<const char*>(address)) + static_cast<long long>(count) * bytes;
}
inline int kept(int x) { return x; }
inline void* kept_apart(const void* address) { return const_cast<void*>(address); }

template <int N>
const Mail& exchange(const u32 (&registers)[N]) {
  return Machine::current().exchange(registers, N);
}

inline u32 bits_of(float x) { return std::bit_cast<u32>(x); }
inline float float_of(u32 bits) { return std::bit_cast<float>(bits); }

// ---- lanes of a warp
inline u32 shuffle(u32 x, int source) { return exchange({x})[source % 32][0]; }
inline int shuffle(int x, int source) { return static_cast<int>(shuffle(static_cast<u32>(x), source)); }
inline float shuffle(float x, int source) { return float_of(shuffle(bits_of(x), source)); }
inline float shuffle_in_half(float x, int source) { return shuffle(x, lane() / 16 * 16 + source % 16); }
inline float shuffle_or_own(float x, int source) { return shuffle(x, source >= 0 && source < 32 ? source : lane()); }
inline float shuffle_up(float x, int lanes) { return shuffle_or_own(x, lane() - lanes); }
inline float shuffle_down(float x, int lanes) { return shuffle_or_own(x, lane() + lanes); }
inline u32 shuffle_xor(u32 x, int mask) { return shuffle(x, lane() ^ mask); }
inline float shuffle_xor(float x, int mask) { return shuffle(x, lane() ^ mask); }
inline void sync_warp() { exchange({0}); }
inline u32 ballot(bool flag) {
  const Mail& mail = exchange({flag ? 1u : 0u});
  u32 flags = 0;
  for (int i = 0; i < 32; ++i) flags |= mail[i][0] << i;
  return flags;
}
inline u32 reduce_max(u32 x) {
  const Mail& mail = exchange({x});
  u32 largest = 0;
  for (const auto& registers : mail) largest = std::max(largest, registers[0]);
  return largest;
}

// Without their signs, 16-bit floats are ordered like integers; `infinity` is the last that is no NaN.
inline u32 larger_magnitude(u32 x, u32 y, u32 infinity) {
  x &= 0x7fffu, y &= 0x7fffu;
  if (x > infinity) return y;
  return y > infinity ? x : std::max(x, y);
}
template <class T>
u32 larger_magnitudes(u32 x, u32 y, T) {
  const u32 infinity = is_same<T, f16> ? 0x7c00u : 0x7f80u;
  return larger_magnitude(x, y, infinity) | larger_magnitude(x >> 16, y >> 16, infinity) << 16;
}

inline u32 low_halves(u32 x, u32 y) { return (x & 0xffffu) | y << 16; }
inline u32 high_halves(u32 x, u32 y) { return x >> 16 | (y & 0xffff0000u); }
inline unsigned short half(u32 x, int i) { return static_cast<unsigned short>(x >> 16 * i); }

// Element (row, column) of an 8x8 matrix of 16-bit elements, two neighbours a lane, in register `r`.
inline u32 element_8x8(const Mail& mail, int r, int row, int column) {
  return half(mail[4 * row + column / 2][r], column % 2);
}
inline u32 transpose_8x8(u32 x) {
  const Mail& mail = exchange({x});
  const int g = lane() / 4, t = lane() % 4;
  return element_8x8(mail, 0, 2 * t, g) | element_8x8(mail, 0, 2 * t + 1, g) << 16;
}

// ---- conversions
inline u32 pack_f16(float low, float high) {
  return host::round_f16(low) | static_cast<u32>(host::round_f16(high)) << 16;
}
inline u32 multiply_f16(u32 x, u32 y) {
  const auto product = [&](int i) { return host::widen_f16(half(x, i)) * host::widen_f16(half(y, i)); };
  return pack_f16(product(0), product(1));
}
inline u32 pack_bf16(float low, float high) {
  return host::round_bf16(low) | static_cast<u32>(host::round_bf16(high)) << 16;
}
inline u32 multiply_bf16(u32 x, u32 y) {
  const auto product = [&](int i) { return host::widen_bf16(half(x, i)) * host::widen_bf16(half(y, i)); };
  return pack_bf16(product(0), product(1));
}
inline u32 multiply_add_f16(u32 x, u32 y, u32 z) {
  const auto sum = [&](int i) {
    return std::fma(host::widen_f16(half(x, i)), host::widen_f16(half(y, i)), host::widen_f16(half(z, i)));
  };
  return pack_f16(sum(0), sum(1));
}
inline u32 multiply_add_bf16(u32 x, u32 y, u32 z) {
  const auto sum = [&](int i) {
    return std::fma(host::widen_bf16(half(x, i)), host::widen_bf16(half(y, i)), host::widen_bf16(half(z, i)));
  };
  return pack_bf16(sum(0), sum(1));
}
inline float widen_f16(unsigned short bits) { return host::widen_f16(bits); }
inline float round_tf32(float x) { return host::round_tf32(x); }
inline constexpr u32 kTf32Bits = 0xffffe000u;

// ---- arithmetic, subnormal numbers flushed
inline float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; }
inline float ex2(float x) { return flush(std::exp2(flush(x))); }
inline float rcp(float x) { return flush(1.f / flush(x)); }
inline float sqrt(float x) { return std::sqrt(flush(x)); }
inline float max_or_nan(float x, float y) { return std::isnan(x) || std::isnan(y) ? x + y : std::max(x, y); }

// ---- shared memory: lane 8m+i names row i of matrix m, which lands in register m
inline const Mail& exchange_addresses(const void* row) {
  const auto address = reinterpret_cast<u64>(row);
  if (address % 16 != 0) throw std::runtime_error("a matrix row is not aligned to 16 bytes");
  return exchange({static_cast<u32>(address), static_cast<u32>(address >> 32)});
}
inline unsigned short* matrix_row(const Mail& addresses, int matrix, int row) {
  const u32(&a)[lanes_machine::kMailbox] = addresses[8 * matrix + row];
  return reinterpret_cast<unsigned short*>(a[0] | static_cast<u64>(a[1]) << 32);
}
inline void ldmatrix(u32 (&r)[4], const void* row) {
  const Mail& rows = exchange_addresses(row);
  const int g = lane() / 4, t = lane() % 4;
  for (int m = 0; m < 4; ++m) std::memcpy(&r[m], matrix_row(rows, m, g) + 2 * t, 4);
}
inline void ldmatrix_trans(u32 (&r)[4], const void* row) {
  const Mail& rows = exchange_addresses(row);
  const int g = lane() / 4, t = lane() % 4;
  for (int m = 0; m < 4; ++m) {
    r[m] = matrix_row(rows, m, 2 * t)[g] | static_cast<u32>(matrix_row(rows, m, 2 * t + 1)[g]) << 16;
  }
}
inline void stmatrix(void* row, const u32 (&r)[4]) {
  const Mail& rows = exchange_addresses(row);
  const int g = lane() / 4, t = lane() % 4;
  for (int m = 0; m < 4; ++m) std::memcpy(matrix_row(rows, m, g) + 2 * t, &r[m], 4);
}
inline void stmatrix_trans(void* row, const u32 (&r)[4]) {
  const Mail& rows = exchange_addresses(row);
  const int g = lane() / 4, t = lane() % 4;
  for (int m = 0; m < 4; ++m) {
    matrix_row(rows, m, 2 * t)[g] = half(r[m], 0);
    matrix_row(rows, m, 2 * t + 1)[g] = half(r[m], 1);
  }
}

// ---- tensor cores. Fragments as the manual draws them; element(register, lane, half) of the operands.
template <int K, class Element>
void mma(float* c, const u32 (&a)[4], u32 b0, u32 b1, Element element) {
  constexpr int kPerLane = K / 8;  // neighbouring k in one register
  const Mail& mail = exchange({a[0], a[1], a[2], a[3], b0, b1});
  const int g = lane() / 4, t = lane() % 4;
  for (int i = 0; i < 4; ++i) {
    const int m = g + i / 2 * 8, n = 2 * t + i % 2;
    double sum = 0;
    for (int k = 0; k < K; ++k) {
      const int upper = k / (K / 2), holder = k % (K / 2) / kPerLane, part = k % kPerLane;
      sum +=
          element(mail[m % 8 * 4 + holder][m / 8 + 2 * upper], part) * element(mail[4 * n + holder][4 + upper], part);
    }
    c[i] = static_cast<float>(c[i] + sum);
  }
}
inline void mma_f16(float* c, const u32 (&a)[4], u32 b0, u32 b1) {
  mma<16>(c, a, b0, b1, [](u32 x, int part) { return double{host::widen_f16(half(x, part))}; });
}
inline void mma_bf16(float* c, const u32 (&a)[4], u32 b0, u32 b1) {
  mma<16>(c, a, b0, b1, [](u32 x, int part) { return double{host::widen_bf16(half(x, part))}; });
}
// The lower half of k.
inline void mma_f16_half(float* c, u32 a0, u32 a1, u32 b) { mma_f16(c, {a0, a1, 0, 0}, b, 0); }
inline void mma_bf16_half(float* c, u32 a0, u32 a1, u32 b) { mma_bf16(c, {a0, a1, 0, 0}, b, 0); }
inline void mma_tf32(float* c, const u32 (&a)[4], const u32 (&b)[2]) {
  mma<8>(c, a, b[0], b[1], [](u32 x, int) { return double{float_of(x & ~0x1fffu)}; });
}

inline u32 shared_address(const void* p) { return Machine::current().address_of(p); }

// ---- warp groups, of which each warp makes its own rows: between a fence and the wait for what was committed, when
// sums change. Element (i, j) of matrices of 8 rows of 8 elements of 16 bits.
struct Wgmma {
  bool fenced = false;
  std::vector<std::function<void()>> started;
  std::size_t committed = 0;

  static Wgmma& own() {
    static thread_local Wgmma all[1024];
    return all[thread()];
  }
};
inline void stay_here(float&) {}
inline void wgmma_fence() { Wgmma::own().fenced = true; }
inline void wgmma_commit() { Wgmma::own().committed = Wgmma::own().started.size(); }
inline void wgmma_wait() {
  const Wgmma own = std::exchange(Wgmma::own(), Wgmma{});
  if (own.committed != own.started.size()) throw std::runtime_error("a wgmma is waited for that was not committed");
  for (const auto& product : own.started) product();
}
inline unsigned short described(u64 descriptor, int contracted, int other, bool trans) {
  const auto field = [&](int bit) { return static_cast<u32>(descriptor >> bit & 0x3fffu) * 16; };
  if (descriptor >> 46 != 0) throw std::runtime_error("a matrix descriptor says more than it should");
  const u32 matrix = field(0) + contracted / 8 * field(16) + other / 8 * field(32);
  const int row = trans ? contracted % 8 : other % 8, column = trans ? other % 8 : contracted % 8;
  return static_cast<const unsigned short*>(Machine::current().at(matrix))[8 * row + column];
}
// N columns, 8 at a time, with the operand that the descriptor says where to find.
template <int N, bool Trans, class Block, class T>
void wgmma(Block* c, const u32 (&a)[4], u64 b, T) {
  if (!Wgmma::own().fenced) throw std::runtime_error("a wgmma without a fence before it");
  Wgmma::own().started.push_back([c, rows = std::to_array(a), b] {
    const u32 registers[] = {rows[0], rows[1], rows[2], rows[3]};
    const int g = lane() / 4, t = lane() % 4;
    const auto pair = [&](int k, int n) {
      return described(b, k, n, Trans) | static_cast<u32>(described(b, k + 1, n, Trans)) << 16;
    };
    const auto mma = is_same<T, f16> ? mma_f16 : mma_bf16;
    for (int n = 0; n < N; n += 8)
      mma(c[n / 16].unit + n % 16 / 2, registers, pair(2 * t, n + g), pair(2 * t + 8, n + g));
  });
}
template <class Block, class T>
void wgmma_n16(Block* c, const u32 (&a)[4], u64 b, T type) {
  wgmma<16, false>(c, a, b, type);
}
template <class Block, class T>
void wgmma_n64_trans(Block* c, const u32 (&a)[4], u64 b, T type) {
  wgmma<64, true>(c, a, b, type);
}
template <class Block, class T>
void wgmma_n128_trans(Block* c, const u32 (&a)[4], u64 b, T type) {
  wgmma<128, true>(c, a, b, type);
}

// ---- the shared memory of other blocks of the cluster
inline u32 address_in_block(u32 shared, int rank) { return Machine::current().address_in(shared, rank); }
inline void store_in_cluster(u32 address, int x) { *static_cast<int*>(Machine::current().at(address)) = x; }
inline void mbarrier_arrive_at(u32 address) {
  host::MbarrierWord(*static_cast<u64*>(Machine::current().at(address))).arrive();
  Machine::current().note_progress();
}
// The copy arrives when it is there.
inline void mbarrier_arrive_expecting(u32, u32) {}
inline void bulk_copy(u32 to, u32 from, u32 bytes, u32 mbarrier) {
  std::memcpy(Machine::current().at(to), Machine::current().at(from), bytes);
  mbarrier_arrive_at(mbarrier);
}
inline void fence_async_reads() {}
template <int Count>
inline void give_registers() {}
template <int Count>
inline void take_registers() {}

// ---- asynchronous copies
inline void cp_async_16(void* shared, const void* global, int bytes) {
  Machine::current().copies().add(shared, bytes ? global : nullptr);
}
inline void cp_async_commit() { Machine::current().copies().commit(); }
template <int Pending>
void cp_async_wait() {
  Machine::current().copies().wait(Pending);
}

// ---- barriers
template <int Id>
void named_barrier(int threads) {
  Machine::current().meet_block(Id, threads);
}
template <int Id>
bool named_barrier_any(int threads, bool flag) {
  return Machine::current().meet_block_any(Id, threads, flag);
}
inline void barrier() { Machine::current().meet_block(0, Machine::current().threads()); }
inline void cluster_barrier() { Machine::current().meet_cluster(); }
inline void fence_mbarrier_init() {}
inline void mbarrier_init(u64* word, int arrivals) { host::MbarrierWord(*word).init(arrivals); }
inline void mbarrier_arrive(u64* word) {
  host::MbarrierWord(*word).arrive();
  Machine::current().note_progress();
}
inline bool mbarrier_try_wait(u64* word, int parity) {
  const bool passed = host::MbarrierWord(*word).passed(parity);
  if (!passed) Machine::current().yield();
  return passed;
}

}  // namespace wkvc::ptx
