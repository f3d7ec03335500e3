// The functions of templates/wkvc/cuda/nest/ptx.h, computed from what the PTX manual says each instruction does.
#pragma once

#include <map>

#include "wkvc/cuda/ptx.h"

namespace wkvc::ptx {

inline char* swizzled_memory() { return shared_memory(); }

// The 128-byte swizzle: an address with its place in a row of 128 bytes exchanged by the row's number.
inline u32 swizzled(u32 address) { return address ^ (address >> 7 & 7) << 4; }

// ---- boxes of 64 elements of 16 bits, by a map whose words are data, extents, strides in bytes, and the box's rows
struct Box {
  const BoxMap& map;
  int column, head, token, batch;

  unsigned rows() const { return static_cast<unsigned>(map.word[8]); }
  bool holds(unsigned row, unsigned i) const {
    return column + i < map.word[1] && token + row < map.word[3] && static_cast<u64>(batch) < map.word[4];
  }
  unsigned short* element(unsigned row, unsigned i) const {
    const u64 bytes = (column + i) * 2 + head * map.word[5] + (token + row) * map.word[6] + batch * map.word[7];
    return reinterpret_cast<unsigned short*>(map.word[0] + bytes);
  }
  // Calls use(element in shared memory, element of the tensor or null) for each of them.
  template <class Use>
  void for_each(const void* tile, Use use) const {
    const u32 begin = shared_address(tile);
    if (begin % 1024 != 0) throw std::runtime_error("a swizzled tile begins at no multiple of 1024 bytes");
    for (unsigned row = 0; row < rows(); ++row)
      for (unsigned i = 0; i < 64; ++i)
        use(static_cast<unsigned short*>(Machine::current().at(swizzled(begin + 128 * row + 2 * i))),
            holds(row, i) ? element(row, i) : nullptr);
  }
  int bytes() const { return static_cast<int>(rows()) * 128; }
};

// Bytes that are to come before an arrival counts.
inline std::map<u64*, int>& expected_bytes() {
  static std::map<u64*, int> bytes;
  return bytes;
}
inline void mbarrier_expect(u64* word, int bytes) { expected_bytes()[word] = bytes; }
inline void load_box(void* to, const BoxMap* map, u64* mbarrier, int column, int head, int token, int batch) {
  const Box box{*map, column, head, token, batch};
  box.for_each(to, [](unsigned short* at, const unsigned short* from) { *at = from != nullptr ? *from : 0; });
  if ((expected_bytes()[mbarrier] -= box.bytes()) == 0) mbarrier_arrive(mbarrier);
}
inline void store_box(const BoxMap* map, const void* from, int column, int head, int token, int batch) {
  const Box box{*map, column, head, token, batch};
  box.for_each(from, [](const unsigned short* at, unsigned short* to) {
    if (to != nullptr) *to = *at;
  });
}
inline void commit_boxes() {}
inline void await_boxes_read() {}
inline void await_boxes() {}

// ---- products of warp groups. Where element `other` of a descriptor's rows and element k of a step lie.
inline unsigned short element_at(u64 descriptor, int other, int k, bool across) {
  const auto field = [&](int bit) { return static_cast<u32>(descriptor >> bit & 0x3fffu) * 16; };
  if (descriptor >> 62 != 1) throw std::runtime_error("a matrix descriptor says no swizzle of 128 bytes");
  const u32 along = static_cast<u32>(across ? k : other), inside = static_cast<u32>(across ? other : k);
  const u32 row = along / 8 * field(32) + along % 8 * 128, panel = across ? inside / 64 * field(16) : 0;
  const u32 address = swizzled(field(0) + row + panel + inside % 64 * 2);
  return *static_cast<const unsigned short*>(Machine::current().at(address));
}
inline u32 pair_at(u64 descriptor, int other, int k, bool across) {
  return element_at(descriptor, other, k, across) | static_cast<u32>(element_at(descriptor, other, k + 1, across))
                                                        << 16;
}

template <int N, bool Adds, int Across, class Block, class A, class T>
void start_product(Block* c, A a, u64 b, T) {
  if (!Wgmma::own().fenced) throw std::runtime_error("a wgmma without a fence before it");
  Wgmma::own().started.push_back([c, a, b] {
    const auto rows = a();
    const u32 registers[] = {rows[0], rows[1], rows[2], rows[3]};
    const int g = lane() / 4, t = lane() % 4;
    const auto mma = is_same<T, f16> ? mma_f16 : mma_bf16;
    for (int n = 0; n < N; n += 8) {
      float* const sums = c[n / 16].unit + n % 16 / 2;
      if (!Adds) std::fill_n(sums, 4, 0.f);
      mma(sums, registers, pair_at(b, n + g, 2 * t, Across), pair_at(b, n + g, 2 * t + 8, Across));
    }
  });
}
template <int N, bool Adds, int Across, class Block, class T>
void product(Block* c, const u32 (&a)[4], u64 b, T type) {
  start_product<N, Adds, Across>(c, [rows = std::to_array(a)] { return rows; }, b, type);
}
// This warp's rows of an operand in shared memory.
template <int N, bool Adds, int Across, class Block, class T>
void product(Block* c, u64 rows, u64 b, T type) {
  const auto own = [rows] {
    const int first = thread() / 32 % 4 * 16 + lane() / 4, k = lane() % 4 * 2;
    return std::array<u32, 4>{pair_at(rows, first, k, false), pair_at(rows, first + 8, k, false),
                              pair_at(rows, first, k + 8, false), pair_at(rows, first + 8, k + 8, false)};
  };
  start_product<N, Adds, Across>(c, own, b, type);
}

}  // namespace wkvc::ptx
