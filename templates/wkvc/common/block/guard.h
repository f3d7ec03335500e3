// Kernels whose operands carry no scales. A block refuses what f16 does not hold as it is: inputs far below one, by a
// sample of them, and whatever overflows on its way, for that leaves something that is not finite in what comes out. A
// kernel with scales then does what was refused.
#pragma once

#include "wkvc/common/global/global.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/block.h"
#else
#include "wkvc/host/block.h"
#endif

namespace wkvc {

// Where a block says whether it has refused, or the first block of a cluster: 1, or 0. Of a tensor [B,H,segments,1].
WKVC_INLINE f32* refusal(const TensorArg& refused, const BlockBase& block) {
  return global_row<f32>(refused, block, block.segment);
}
WKVC_INLINE bool is_refused(const TensorArg& refused, const BlockBase& block) {
  return *refusal(refused, block) != 0.f;
}

// The first token of a chunk of C, or the end of the sequence.
template <int C>
WKVC_INLINE long long first_token(long long tokens, int chunk) {
  const long long token = static_cast<long long>(C) * chunk;
  return token < tokens ? token : tokens;
}

// The largest |element| of a sample of a tensor [B,T,H,C]: up to 32 columns of each of 8 tokens, from `first` to before
// `end`, the last one among them. The same for all warps. NaN does not count; 1 where there are no tokens. Its pieces
// are shared by the lanes, which takes fewer instructions than an element of each token for every lane.
template <class T, int C>
WKVC_INLINE float largest_of_sample(const TensorArg& t, const BlockBase& block, long long first, long long end) {
  constexpr int kTokens = 8, kColumns = C < 32 ? C : 32, kTurns = C / kColumns;  // of columns, by turns
  constexpr int kElements = kColumns < kPiece<T> ? kColumns : kPiece<T>, kAcross = kColumns / kElements,
                kPieces = kTokens * kAcross;
  if (first >= end) return 1.f;
  const T* const last = token_row<const T>(t, block, end - 1);
  const long long step = (end - 1 - first) / (kTokens - 1) * row_stride(t);
  copy::Largest<T> of_pieces;
  float of_elements = 0.f;
  const auto add = [&](int piece) WKVC_INLINE_LAMBDA {
    const int token = piece / kAcross, column = token % kTurns * kColumns + piece % kAcross * kElements;
    const T* const from = last - token * step + column;
    if constexpr (kOnlyAligned && kElements == kPiece<T>) {
      of_pieces.add(from);
    } else {
      WKVC_FOR(n, kElements, of_elements = scalar::max(of_elements, scalar::abs(scalar::widen(from[n]))));
    }
  };
  lanes::for_each([&](int lane)
                      WKVC_INLINE_LAMBDA { WKVC_FOR(round, (kPieces + 31) / 32, add((lane + 32 * round) % kPieces)); });
  return lanes::max_non_negative(scalar::max(of_elements, of_pieces.value()));
}

// T: of most of what comes out.
template <class T>
class Guard {
 public:
  WKVC_INLINE Guard(const TensorArg& refused, const Block& block) : block_(block), refusal_(refusal(refused, block)) {
    block.let_next_kernel_begin();  // the kernel behind, most of whose blocks end at once
  }

  // Whether the largest elements of samples leave what f16 holds below them room enough, for each input, and for
  // products of any two: the smaller ones that lose digits don't count beside them.
  template <class... Sample>
  WKVC_INLINE void expect(Sample... largest) {
    const float all[] = {largest...};
    float least = all[0], second = sizeof...(Sample) > 1 ? kMost : all[0];
    WKVC_FOR(i, static_cast<int>(sizeof...(Sample)) - 1, second = scalar::min(second, scalar::max(least, all[i + 1])),
             least = scalar::min(least, all[i + 1]));
    failed_ |= !(least >= kLeast) || !(least * second >= kLeastProduct);
  }
  // The power of two that brings the gradients of these samples to where inputs are.
  template <class... Sample>
  WKVC_INLINE float unit(Sample... largest) {
    float most = 0.f;
    ((most = scalar::max(most, largest)), ...);
    const float power = scalar::float_of(scalar::bits_of(most) & 0x7f800000u);
    failed_ |= !(power >= 0x1p-100f && power <= 0x1p100f) || ((largest < power * kLeast) || ...);
    return power;
  }
  // Whether the block ends here: all warps have come to the same, from samples.
  WKVC_INLINE bool refuses_samples() const {
    if (failed_) leave(true);
    return failed_;
  }

  template <class X, int R, int C, class L>
  WKVC_INLINE void see(const Tile<X, R, C, L>& x) {
    if constexpr (is_same<X, T>) {
      WKVC_EACH_UNIT(T, R, C, sum_ = plus_nothing(sum_, x.block[i][j].unit[u], T{}));
    } else {
      failed_ |= !is_finite(x);
    }
  }
  template <class Axis, int N>
  WKVC_INLINE void see(const Vector<Axis, N>& x) {
    float sum = 0.f;
    WKVC_EACH_SLOT(Axis, N, sum = plus_nothing(sum, x.v[i][s], f32{}));
    failed_ |= is_nan(sum, f32{});
  }
  // Whether the block ends here, for what it has given so far: all its warps meet.
  template <int Warps>
  WKVC_INLINE bool refuses_so_far() const {
    const bool any = block_.template any<0>(Warps, has_seen());
    if (any) leave(true);
    return any;
  }
  // The same before it leaves this state: called once by each of the warps that have rows of it, who meet at barrier
  // `Id`: 0 if these are all warps, else one that no team has. `first`: the first one of those warps.
  template <int Warps, int Id = 0, int R, int C>
  WKVC_INLINE bool refuses_state(const Tile<f32, R, C>& state, int first = 0) const {
    const bool any = block_.template any<Id>(Warps, has_seen() || !is_finite(state));
    leave(any, first);
    return any;
  }
  // For the block's other warps, which meet at barrier 0 those that have rows of the state: `Warps` of both.
  template <int Warps>
  WKVC_INLINE void tell_block() const {
    block_.template any<0>(Warps, has_seen());
  }
  // The same in a cluster, by two calls with a barrier of the cluster between them, so that no block leaves a state
  // where another one refuses. First each of the warps that have rows of the state says whether it has seen anything.
  template <int Cluster, int R, int C>
  WKVC_INLINE void tell_cluster(const Tile<f32, R, C>& state) const {
    if (lanes::any(has_seen() || !is_finite(state))) block_.template raise_flags<Cluster>();
  }
  WKVC_INLINE bool refuses_with_cluster() const {
    const bool any = block_.has_flag();
    leave(any);
    return any;
  }
  // Whether the round that begins with chunk `first` is left out, as the block will refuse. Asked by the state's warps,
  // the first of which says so, and by a team for its slot. A team has waited for that warp's release of the slot two
  // rounds before: so all of its warps get the same answer if it is about rounds three later.
  template <class Slots>
  WKVC_INLINE bool leaves_out(int first) {
    if (block_.warp == 0 && !stopped_ && lanes::any(has_seen())) {
      stopped_ = true;
      block_.stop_rounds(first + 3 * Slots::kChunks);
    }
    return block_.has_stopped(first);
  }

 private:
  static constexpr float kLeast = 0x1p-5f, kLeastProduct = 0x1p-6f, kMost = 0x1p100f;

  template <class X, int R, int C, class L>
  static WKVC_INLINE bool is_finite(const Tile<X, R, C, L>& x) {
    typename Unit<X>::type sum{};
    WKVC_EACH_UNIT(X, R, C, sum = plus_nothing(sum, x.block[i][j].unit[u], X{}));
    return !is_nan(sum, X{});
  }

  WKVC_INLINE bool has_seen() const { return failed_ || is_nan(sum_, T{}); }

  WKVC_INLINE void leave(bool refuses, int warp = 0) const {
    if (block_.rank == 0 && block_.warp == warp && lanes::is_first()) *refusal_ = refuses ? 1.f : 0.f;
  }

  const Block& block_;
  f32* refusal_;
  bool failed_ = false, stopped_ = false;
  typename Unit<T>::type sum_{};  // zero as long as everything was finite, then NaN
};

// As without a guard, which sees what is stored.
template <class T, int N, class... Outputs>
WKVC_INLINE void store_outputs(Guard<T>& guard, const KernelArgs<N>& args, int chunk, int valid,
                               const Outputs&... outputs) {
  (guard.see(outputs.x), ...);
  store_outputs(args, chunk, valid, outputs...);
}

}  // namespace wkvc
