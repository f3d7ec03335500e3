// The tokens that a block goes through at once. One f16 scale is for all tokens of a chunk, so where these differ by more
// than f16 carries beside each other, the small ones lose their digits. A block that has met such a chunk goes through
// its tokens once more, and through each of such a chunk's by itself.
#pragma once

#include "wkvc/common/block/copy_async.h"
#include "wkvc/common/block/ring.h"
#include "wkvc/common/block/team.h"

namespace wkvc {

// How many times as large as another token's largest element one token's may be, of one tensor and chunk.
inline constexpr float kMostSpread = 0x1p8f;  // in one chunk

// Whether tokens of a chunk differ by more than that; zeros and what is not finite do not count. Out of line: it is
// asked where a chunk may be one of the few.
template <class T>
WKVC_OUTLINE bool tokens_differ(const T* data, int tokens, int columns, int stride) {
  float most = 0.f, least = 0x1p127f;
  for (int token = 0; token < tokens; ++token) {
    float largest = 0.f;
    lanes::for_each([&](int lane) {
      for (int column = lane; column < columns; column += 32)
        largest = scalar::max(largest, scalar::finite_abs(scalar::widen(data[token * stride + column])));
    });
    largest = lanes::max_non_negative(largest);
    if (largest > 0.f) {
      most = scalar::max(most, largest);
      least = scalar::min(least, largest);
    }
  }
  return most > least * kMostSpread;
}

// The same of a tile of inputs in shared memory.
template <class Tile>
WKVC_INLINE bool tokens_differ(const Tile& x) {
  return tokens_differ<typename Tile::Element>(x.data, Tile::kRows, Tile::kColumns, Tile::kLength);
}
// The same of chunk `chunk` of R tokens of a tensor with C columns.
template <class T, int R, int C, int N>
WKVC_INLINE bool tokens_differ(const TensorArg& t, const KernelArgs<N>& args, const BlockBase& block, int chunk) {
  return tokens_differ<T>(token_row<const T>(t, block, static_cast<long long>(chunk) * R),
                       valid_rows<R>(tokens_of(args, block), chunk), C, row_stride(t));
}

// Chunks of C tokens from `begin` to before `end`: all at once, and, if some have been seen to differ, again, such a
// chunk in stretches of one token.
template <int C>
class Stretches {
 public:
  static constexpr float kMostSpread = wkvc::kMostSpread;

  WKVC_INLINE Stretches(int begin, int end) : begin_(begin), end_(end) {}

  // The chunks of the stretch, and the tokens that it has of one of them.
  WKVC_INLINE int begin() const { return begin_; }
  WKVC_INLINE int end() const { return end_; }
  template <int N>
  WKVC_INLINE TokenRange tokens(const KernelArgs<N>& args, const BlockBase& block, int chunk) const {
    const int valid = valid_rows<C>(tokens_of(args, block), chunk);
    return is_whole() ? TokenRange{0, valid} : TokenRange{token_, token_ < valid ? token_ + 1 : valid};
  }
  WKVC_INLINE bool is_whole() const { return token_ == kAll; }
  // Whether it is the first one, before which a state is as the block was given it; and whether others came before.
  WKVC_INLINE bool is_first(int begin) const { return begin_ == begin && token_ <= 0; }
  WKVC_INLINE bool is_again() const { return again_; }

  // Called by warps that look at inputs.
  WKVC_INLINE void see(bool differ) { differ_ |= differ; }

  // The next stretch of the chunks from `begin` to before `end`, or false if all are done. Called by all warps of the
  // block, or of the cluster, which meet here. `differ`: whether the tokens of a chunk do.
  template <int Cluster = 1, int N, class Differ>
  WKVC_INLINE bool go_on(const KernelArgs<N>& args, const Block& block, int begin, int end, const Differ& differ) {
    if (!again_) {
      if (!any<Cluster>(block)) return false;
      again_ = true;
      end_ = begin;
    } else {
      meet<Cluster>(block);
      if (!is_whole() && token_ + 1 < valid_rows<C>(tokens_of(args, block), begin_)) {
        ++token_;
        return true;
      }
      if (end_ >= end) return false;
    }
    begin_ = end_++;
    token_ = differ(begin_) ? 0 : kAll;
    while (is_whole() && end_ < end && !differ(end_)) ++end_;
    return true;
  }

 private:
  static constexpr int kAll = -1;

  template <int Cluster>
  static WKVC_INLINE void meet(const Block& block) {
    if constexpr (Cluster > 1) {
      block.cluster_barrier();
    } else {
      block.barrier();
    }
  }
  template <int Cluster>
  WKVC_INLINE bool any(const Block& block) const {
    if constexpr (Cluster > 1) {
      if (differ_) block.raise_flags<Cluster>();
      meet<Cluster>(block);
      return block.has_flag();
    } else {
      return block.any<0>(block.warps, differ_);
    }
  }

  int begin_, end_, token_ = kAll;
  bool differ_ = false, again_ = false;
};

}  // namespace wkvc
