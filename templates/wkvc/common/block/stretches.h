// The tokens that a block goes through at once. One f16 scale is for all tokens of a chunk. So small tokens lose digits
// beside tokens that are too much larger. A block that has met such a chunk goes through all chunks once more, and
// through each token of such a chunk by itself.
#pragma once

#include "wkvc/common/block/differing_tokens.h"
#include "wkvc/common/block/ring.h"
#include "wkvc/common/block/team.h"

namespace wkvc {

// Returns whether tokens of a tile of inputs in shared memory differ by more.
template <class Tile>
WKVC_INLINE bool tokens_differ(const Tile& x) {
  return tokens_differ<typename Tile::Element>(x.data, Tile::kRows, Tile::kColumns, Tile::kLength, kMostSpread);
}
// Returns the same of chunk `chunk` of R tokens of a tensor with C columns.
template <class T, int R, int C, int N>
WKVC_INLINE bool tokens_differ(const TensorArg& t, const KernelArgs<N>& args, const BlockBase& block, int chunk) {
  return tokens_differ<T>(token_row<const T>(t, block, static_cast<long long>(chunk) * R),
                          valid_rows<R>(tokens_of(args, block), chunk), C, row_stride(t), kMostSpread);
}

// Returns whether a warp of the block, or of the cluster, says so. All warps meet.
template <int Cluster>
WKVC_INLINE bool any_warp(const Block& block, bool flag) {
  if constexpr (Cluster > 1) {
    if (lanes::any(flag)) block.raise_flags<Cluster>();
    block.cluster_barrier();
    return block.has_flag();
  } else {
    return block.any<0>(block.warps, flag);
  }
}

// All chunks of C tokens, and what warps see of the inputs.
template <int C, int Cluster>
class WholeStretch {
 public:
  static constexpr bool kLooks = true;

  // The chunks are those from `begin` to before `end`. (`differ`: see below.)
  template <int N, class Differ>
  WKVC_INLINE void start(const KernelArgs<N>&, const Block&, int begin, int end, const Differ&) {
    begin_ = begin;
    end_ = end;
  }
  // Returns whether the block goes through its tokens again, as a warp has seen a chunk whose tokens differ too much.
  template <int N, class Differ>
  WKVC_INLINE bool goes_on(const KernelArgs<N>&, const Block& block, int, int, const Differ&) {
    goes_on_ = any_warp<Cluster>(block, differ_);
    return goes_on_;
  }
  WKVC_INLINE bool has_gone_on() const { return goes_on_; }

  // The same functions as below.
  WKVC_INLINE int begin() const { return begin_; }
  WKVC_INLINE int end() const { return end_; }
  template <int N>
  WKVC_INLINE int tokens(const KernelArgs<N>& args, const BlockBase& block, int chunk) const {
    return valid_rows<C>(tokens_of(args, block), chunk);
  }
  static WKVC_INLINE constexpr bool is_whole() { return true; }
  static WKVC_INLINE constexpr bool is_again() { return false; }
  static WKVC_INLINE constexpr bool is_first(int) { return true; }
  static WKVC_INLINE constexpr bool advances() { return false; }
  static WKVC_INLINE constexpr bool is_advanced() { return false; }

  // Called by warps that look at inputs.
  WKVC_INLINE void see(bool differ) { differ_ |= differ; }

 private:
  int begin_ = 0, end_ = 0;
  bool differ_ = false, goes_on_ = false;
};

// Chunks of C tokens that a block goes through at once, or one token of a chunk. All warps of the block, or of the
// cluster, come from one stretch to the next together.
template <int C>
class Stretch {
 public:
  static constexpr bool kLooks = false;

  // The chunks of the stretch, and the tokens that it has of one of them.
  WKVC_INLINE int begin() const { return begin_; }
  WKVC_INLINE int end() const { return end_; }
  template <int N>
  WKVC_INLINE TokenRange tokens(const KernelArgs<N>& args, const BlockBase& block, int chunk) const {
    const int valid = valid_rows<C>(tokens_of(args, block), chunk);
    return is_whole() ? TokenRange{0, valid} : TokenRange{token_, token_ < valid ? token_ + 1 : valid};
  }
  WKVC_INLINE bool is_whole() const { return token_ == kAll; }
  static WKVC_INLINE constexpr bool is_again() { return true; }

 protected:
  static constexpr int kAll = -1;

  // Finds the stretch that begins with a token of a chunk. Where the chunk's tokens differ that is the token, else
  // whole chunks, up to `end` or to a chunk whose tokens differ.
  template <class Differ>
  WKVC_INLINE void reach(int chunk, int token, int end, const Differ& differ) {
    begin_ = chunk;
    token_ = kAll;
    for (end_ = chunk; end_ < end; ++end_) {
      if (!differ(end_)) continue;
      if (end_ > begin_) return;
      token_ = token;
      ++end_;
      return;
    }
  }

  int begin_ = 0, end_ = 0, token_ = kAll;
};

// From the first chunk to the last.
template <int C>
class ForwardStretches : public Stretch<C> {
  using Base = Stretch<C>;
  using Base::begin_, Base::end_, Base::kAll, Base::token_;

 public:
  static constexpr int kTokens = C;

  // Returns whether the stretch begins with the state that the block was given, at the block's first chunk.
  WKVC_INLINE bool is_first(int begin) const { return begin_ == begin && token_ <= 0; }
  static WKVC_INLINE constexpr bool advances() { return false; }
  static WKVC_INLINE constexpr bool is_advanced() { return false; }

 protected:
  WKVC_INLINE void begin_at(int begin, int) { end_ = begin; }
  // Finds the next stretch of the chunks from `begin` to before `end`. Returns false if all are done. `differ` says
  // whether the tokens of a chunk differ too much.
  template <int N, class Differ>
  WKVC_INLINE bool find_next(const KernelArgs<N>& args, const Block& block, int, int end, const Differ& differ) {
    if (token_ != kAll && token_ + 1 < valid_rows<C>(tokens_of(args, block), begin_)) {
      ++token_;
      return true;
    }
    if (end_ >= end) return false;
    Base::reach(end_, 0, end, differ);
    return true;
  }
};

// From the last chunk to the first. States are saved before every `Every` chunks. A stretch that begins elsewhere, a
// target, comes behind stretches that bring the last saved state on. Kernels without `Saved` states need none.
template <int C, int Every, bool Saved = true>
class BackwardStretches : public Stretch<C> {
  using Base = Stretch<C>;
  using Base::begin_, Base::end_, Base::kAll, Base::token_;

 public:
  static constexpr int kTokens = C;

  // Returns whether the block, since it began again, has gone through nothing backward.
  WKVC_INLINE bool is_first(int) const { return first_; }
  // Returns whether the stretch only brings a state on, and whether the stretch begins with such a state.
  WKVC_INLINE bool advances() const { return advances_; }
  WKVC_INLINE bool is_advanced() const { return advanced_; }

 protected:
  WKVC_INLINE void begin_at(int, int end) { target_begin_ = target_end_ = end; }
  // Finds the next stretch of the chunks from `begin` to before `end`. Returns false if all are done. `differ` says
  // whether the tokens of a chunk differ too much.
  template <int N, class Differ>
  WKVC_INLINE bool find_next(const KernelArgs<N>& args, const Block& block, int begin, int, const Differ& differ) {
    const auto count = [&](int chunk) WKVC_INLINE_LAMBDA { return valid_rows<C>(tokens_of(args, block), chunk); };
    first_ &= !began_ || advances_;
    began_ = true;
    int chunk = end_, token = 0;  // behind a stretch that brings a state on
    if (advances_) {
      if (token_ != kAll && token_ + 1 < count(begin_)) chunk = begin_, token = token_ + 1;
    } else {
      if (!find_target(begin, count, differ)) return false;
      chunk = Saved ? saved_chunk() : target_begin_;
      token = Saved ? 0 : target_token();
    }
    go_to(chunk, token, differ);
    return true;
  }

 private:
  WKVC_INLINE int saved_chunk() const { return target_begin_ / Every * Every; }
  WKVC_INLINE int target_token() const { return target_token_ == kAll ? 0 : target_token_; }

  // Finds the target before the last one: a token, or chunks whose tokens don't differ. Chunks begin with a saved state
  // if they reach that far.
  template <class Count, class Differ>
  WKVC_INLINE bool find_target(int begin, const Count& count, const Differ& differ) {
    if (target_token_ > 0) {
      --target_token_;
      return true;
    }
    if (target_begin_ <= begin) return false;
    target_end_ = target_begin_;
    target_token_ = kAll;
    for (; target_begin_ > begin; --target_begin_) {
      if (!differ(target_begin_ - 1)) continue;
      if (target_begin_ < target_end_) break;
      --target_begin_;
      target_token_ = count(target_begin_) - 1;
      return true;
    }
    const int saved = (target_begin_ + Every - 1) / Every * Every;
    if (saved < target_end_) target_begin_ = saved;
    return true;
  }
  // Begins a stretch at a token of a chunk: the target, or a stretch on the way there.
  template <class Differ>
  WKVC_INLINE void go_to(int chunk, int token, const Differ& differ) {
    advanced_ = Saved && (chunk != saved_chunk() || token != 0);
    advances_ = chunk != target_begin_ || token != target_token();
    if (chunk < target_begin_) return Base::reach(chunk, token, target_begin_, differ);
    begin_ = chunk;
    end_ = target_end_;
    token_ = advances_ ? token : target_token_;
  }

  int target_begin_ = 0, target_end_ = 0, target_token_ = kAll;
  bool began_ = false, first_ = true, advances_ = false, advanced_ = false;
};

// The stretches of a block: each is found as the one before is done, by all warps.
template <class Stretches, int Cluster>
class EachStretch : public Stretches {
 public:
  // Finds the first one of the chunks from `begin` to before `end`. `differ` says whether the tokens of a chunk differ
  // too much.
  template <int N, class Differ>
  WKVC_INLINE void start(const KernelArgs<N>& args, const Block& block, int begin, int end, const Differ& differ) {
    if (has_begun_) return;
    has_begun_ = true;
    Stretches::begin_at(begin, end);
    find_next(args, block, begin, end, differ);
  }
  // Finds the next one. Returns false if all are done.
  template <int N, class Differ>
  WKVC_INLINE bool goes_on(const KernelArgs<N>& args, const Block& block, int begin, int end, const Differ& differ) {
    any_warp<Cluster>(block, false);  // all are done with this one
    find_next(args, block, begin, end, differ);
    return goes_on_;
  }
  WKVC_INLINE bool has_gone_on() const { return goes_on_; }

 private:
  // Out of line: the compiler goes through the search once.
  template <int N, class Differ>
  WKVC_OUTLINE void find_next(const KernelArgs<N>& args, const Block& block, int begin, int end, const Differ& differ) {
    goes_on_ = Stretches::find_next(args, block, begin, end, differ);
  }

  bool has_begun_ = false, goes_on_ = false;
};

// Out of line: nothing that stretches need is kept in registers where a block has no such chunk.
template <class Stretches, int Cluster, int K, int N, class Body>
WKVC_OUTLINE void go_again(const KernelArgs<N>& args, Block block, Body body) {
  const Block own = block.with_own_memory();
  EachStretch<Stretches, Cluster> stretches;
  Tile<f32, 16, K> carried{};
  do {
    body(args, own, stretches, carried);
  } while (stretches.has_gone_on());
}

// Calls `body` with all chunks of a block and, where tokens of one differ too much, with each stretch, too. `carried`
// is a warp's rows of a state of K columns, from stretch to stretch.
template <class Stretches, int K, int Cluster = 1, int N, class Body>
WKVC_INLINE void go_through(const KernelArgs<N>& args, const Block& block, const Body& body) {
  WholeStretch<Stretches::kTokens, Cluster> whole;
  Tile<f32, 16, K> carried{};
  body(args, block, whole, carried);
  if (whole.has_gone_on()) go_again<Stretches, Cluster, K>(args, block, body);
}

}  // namespace wkvc
