// Registers to and from global memory.
#pragma once

#include "wkvc/common/block/block_base.h"
#include "wkvc/common/global/sequences.h"

namespace wkvc {

// What this lane has of row slot s of block row i of a tile in runs, to a row of a tensor in which its first run is at
// `to`.
template <class T, int R, int C>
WKVC_INLINE void store_row_slot(T* to, const Tile<T, R, C>& x, int i, int s, bool aligned) {
  const int first = memory::run_column<T>(0);
  WKVC_FOR_PLACES(once, 1, j, C / 16, n, memory::kRuns<T>,
                  memory::store_run(to + 16 * j + (memory::run_column<T>(n) - first),
                                    x.block[i][j].unit + memory::run_unit<T>(s, n), aligned));
}
// The same from a row that begins at `from`.
template <class T, int R, int C>
WKVC_INLINE void load_row_slot(Tile<T, R, C>& x, const T* from, int i, int s, bool aligned) {
  WKVC_FOR_PLACES(once, 1, j, C / 16, n, memory::kRuns<T>,
                  memory::load_run(from + 16 * j + memory::run_column<T>(n),
                                   x.block[i][j].unit + memory::run_unit<T>(s, n), aligned));
}

// Rows of a tensor, `stride` elements from one to the next, of a tile in runs. Tiles of f32 are in runs as they are.
template <class T, int R, int C>
WKVC_INLINE void store_rows(T* to, int stride, const Tile<T, R, C>& x, bool aligned) {
  WKVC_FOR_PLACES(i, R / 16, once, 1, s, PerRow::kSlots,
                  store_row_slot(to + PerRow::position<R>(i, s) * stride + memory::run_column<T>(0), x, i, s, aligned));
}
template <class T, int R, int C>
WKVC_INLINE void load_rows(Tile<T, R, C>& x, const T* from, int stride, bool aligned) {
  WKVC_FOR_PLACES(i, R / 16, once, 1, s, PerRow::kSlots,
                  load_row_slot(x, from + PerRow::position<R>(i, s) * stride, i, s, aligned));
}

// This lane's part of a tensor's rows of tokens, of this block's batch and head: where it begins is found before the
// chunks and kept, or, where registers are short, found for each. Addresses are kept apart from what is added to them,
// for the compiler would add up all terms again for each store.
template <class T, bool Kept = true>
struct OutputRows {
  int stride;
  T* own;

  WKVC_INLINE OutputRows(const TensorArg& t, const BlockBase& block)
      : stride(row_stride(t)),
        own(memory::kept_apart(token_row<T>(t, block, 0) + PerRow::position<16>(0, 0) * stride +
                               memory::run_column<T>(0))) {}
  WKVC_INLINE T* row(long long n) const { return own + n * stride; }
};
template <class T>
struct OutputRows<T, false> {
  int stride;
  const TensorArg& tensor;
  const BlockBase& block;

  WKVC_INLINE OutputRows(const TensorArg& t, const BlockBase& b) : stride(row_stride(t)), tensor(t), block(b) {}
  WKVC_INLINE T* row(long long n) const {
    return token_row<T>(tensor, block, n + PerRow::position<16>(0, 0)) + memory::run_column<T>(0);
  }
};

// What the tokens of a chunk have in columns from col0 on, in runs.
template <class T, int R, int C, bool Kept>
struct Output {
  OutputRows<T, Kept> rows;
  int col0;
  Tile<T, R, C> x;

  static WKVC_INLINE int row(int i, int s) { return PerRow::position<R>(i, s); }
  WKVC_INLINE T* to(int chunk) const { return memory::kept_apart(rows.row(static_cast<long long>(chunk) * R) + col0); }
};

template <class T, int R, int C>
WKVC_INLINE Tile<T, R, C> in_runs(Tile<T, R, C> x) {
  WKVC_FOR_PLACES(i, R / 16, j, C / 16, once, 1, x.block[i][j] = memory::in_runs(x.block[i][j]));
  return x;
}
// Rounds to T.
template <class T, int R, int C, bool Kept>
WKVC_INLINE Output<T, R, C, Kept> output(const OutputRows<T, Kept>& rows, int col0, const Tile<f32, R, C>& x) {
  return {rows, col0, in_runs(round<T>(x))};
}
// The same for a matrix in two terms, as it lies.
template <int C, bool Kept>
WKVC_INLINE Output<f16, C, C, Kept> output(const OutputRows<f16, Kept>& rows, int col0,
                                           const Tile<lower_f16x2, C, C>& x) {
  Tile<f16, C, C> y;
  WKVC_EACH_BLOCK(C, C, y.block[i][j] = fragment::as_it_lies(x.block[i][j]));
  return {rows, col0, in_runs(y)};
}
// The same for a tile that holds [columns of the tensor x tokens].
template <class T, int R, int C, bool Kept>
WKVC_INLINE Output<T, C, R, Kept> output_transposed(const OutputRows<T, Kept>& rows, int col0,
                                                    const Tile<f32, R, C>& x) {
  return {rows, col0, in_runs(transpose(round<T>(x)))};
}

// Writes the first `valid` tokens of a chunk. One test for all that a lane has of a row: tests cost the compiler time.
template <class T, int R, int C, bool Kept>
WKVC_INLINE void store_output(const Output<T, R, C, Kept>& output, int chunk, int valid, bool aligned) {
  T* const to = output.to(chunk);
  const auto store = [&](int i, int s) WKVC_INLINE_LAMBDA {
    T* const at = to + (output.row(i, s) - output.row(0, 0)) * output.rows.stride;
    if (output.row(i, s) < valid) store_row_slot(at, output.x, i, s, aligned);
  };
  WKVC_FOR_PLACES(i, R / 16, once, 1, s, PerRow::kSlots, store(i, s));
}
template <int N, class... Outputs>
WKVC_INLINE void store_outputs(const KernelArgs<N>& args, int chunk, int valid, const Outputs&... outputs) {
  // One test for all of them, of which one side is rare.
  if (is_aligned(args)) {
    (store_output(outputs, chunk, valid, true), ...);
  } else {
    (store_output(outputs, chunk, valid, false), ...);
  }
}

template <class T, int R, int C>
WKVC_INLINE Tile<T, R, C> out_of_runs(Tile<T, R, C> x) {
  WKVC_FOR_PLACES(i, R / 16, j, C / 16, once, 1, x.block[i][j] = memory::out_of_runs(x.block[i][j]));
  return x;
}

// A rectangle of a state as it is stored, whose first element is at `from`.
template <class T, int R, int C>
WKVC_INLINE Tile<T, R, C> load_stored(const TensorArg& t, const T* from) {
  Tile<T, R, C> x;
  if (is_aligned(t)) {
    load_rows(x, from, row_stride(t), true);
  } else {
    load_rows(x, from, row_stride(t), false);
  }
  return out_of_runs(x);
}
template <class T, int R, int C>
WKVC_INLINE void store_stored(const TensorArg& t, T* to, const Tile<T, R, C>& x) {
  if (is_aligned(t)) {
    store_rows(to, row_stride(t), in_runs(x), true);
  } else {
    store_rows(to, row_stride(t), in_runs(x), false);
  }
}

// The order of a state's dimensions in memory: rows of keys, or of values.
enum class StateLayout { vk, kv };

// The same in f32, rounded to T where it is stored.
template <StateLayout Order, class T, int R, int K>
WKVC_INLINE void load_stored(Tile<f32, R, K>& x, const TensorArg& t, const T* from) {
  if constexpr (Order == StateLayout::vk) {
    x = widen(load_stored<T, R, K>(t, from));
  } else {
    x = widen(transpose(load_stored<T, K, R>(t, from)));
  }
}
template <StateLayout Order, class T, int R, int K>
WKVC_INLINE void store_stored(const TensorArg& t, T* to, const Tile<f32, R, K>& x) {
  if constexpr (Order == StateLayout::vk) {
    store_stored(t, to, round<T>(x));
  } else {
    store_stored(t, to, transpose(round<T>(x)));
  }
}

// Row row0 and column col0 of this batch's and head's states.
template <StateLayout Order, class T>
WKVC_INLINE T* state_element(const TensorArg& t, const BlockBase& block, long long row0, int col0) {
  return Order == StateLayout::vk ? global_row<T>(t, block, row0) + col0 : global_row<T>(t, block, col0) + row0;
}

// Rows row0 … and columns col0 … of this batch's and head's states, stored as T; absent states are zero.
template <class T = f32, StateLayout Order = StateLayout::vk, int R, int K, class L>
WKVC_INLINE void load_state(Tile<f32, R, K, L>& x, const TensorArg& t, const BlockBase& block, long long row0,
                            int col0 = 0) {
  x = Tile<f32, R, K, L>{};
  if (t.data != nullptr) load_stored<Order>(x, t, state_element<Order, const T>(t, block, row0, col0));
}

// Rounds to T. Writes nothing where nobody asked for the state.
template <class T = f32, StateLayout Order = StateLayout::vk, int R, int K, class L>
WKVC_INLINE void store_state(const Tile<f32, R, K, L>& x, const TensorArg& t, const BlockBase& block, long long row0,
                             int col0 = 0) {
  if (t.data != nullptr) store_stored<Order>(t, state_element<Order, T>(t, block, row0, col0), x);
}

// The state behind so many tokens, if the sequence has them and the state is one of a tensor [B,M,H,Values,K], or
// [B,M,H,K,Values], whose states are Every tokens apart; rounded to T. Sequence n of a map begins at state ⌊first token
// / Every⌋, which lies behind all states of the sequences before. Writes nothing where nobody asked for these states.
template <int Every, int Values, class T = f32, StateLayout Order = StateLayout::vk, int N, int K, class L>
WKVC_INLINE void store_intermediate_state(const Tile<f32, 16, K, L>& x, const TensorArg& t, const KernelArgs<N>& args,
                                          const BlockBase& block, long long tokens, long long row0) {
  if (t.data == nullptr || tokens % Every != 0 || tokens > tokens_of(args, block)) return;
  const long long batch = kMapsSequences ? block.token_batch : block.batch;
  const long long first = kMapsSequences ? block.first_token / Every : 0;
  const long long before = (first + tokens / Every - 1) * args.heads;  // states of heads
  T* const state = static_cast<T*>(t.data) + batch * t.batch + before * (Values * K) + head_offset(t, block.head);
  store_stored<Order>(t, state + row0 * (Order == StateLayout::vk ? K : 1), x);
}

// One number a token, a tensor [B, T, H]: N tokens from token0 on, zero from `valid` on.
template <class T, class Axis, int N>
WKVC_INLINE Vector<Axis, N> load_token_vector(const TensorArg& t, const BlockBase& block, long long token0, int valid) {
  const T* from = token_row<const T>(t, block, token0);
  Vector<Axis, N> x;
  const auto at = [&](int token)
                      WKVC_INLINE_LAMBDA { return token < valid ? scalar::widen(from[token * t.row]) : 0.f; };
  WKVC_EACH_SLOT(Axis, N, x.v[i][s] = at(Axis::template position<N>(i, s)));
  return x;
}
// Beside a tile whose rows, or whose columns, are tokens.
template <class T, int R>
WKVC_INLINE ColVec<R> load_tokens_column(const TensorArg& t, const BlockBase& block, long long token0, int valid) {
  return load_token_vector<T, PerRow, R>(t, block, token0, valid);
}
template <class T, int C>
WKVC_INLINE RowVec<C> load_tokens_row(const TensorArg& t, const BlockBase& block, long long token0, int valid) {
  return load_token_vector<T, PerColumn, C>(t, block, token0, valid);
}

// Rounds to T and writes the first `valid` tokens from token0 on, each by one lane.
template <class T, class Axis, int N>
WKVC_INLINE void store_tokens(const TensorArg& t, const BlockBase& block, long long token0, int valid,
                              const Vector<Axis, N>& x) {
  if (!Axis::is_first_holder()) return;
  T* to = token_row<T>(t, block, token0);
  const auto store = [&](int token, float value) WKVC_INLINE_LAMBDA {
    if (token < valid) to[token * t.row] = scalar::round<T>(value);
  };
  WKVC_EACH_SLOT(Axis, N, store(Axis::template position<N>(i, s), x.v[i][s]));
}

template <class Vector>
struct VectorShape;
template <class A, int N>
struct VectorShape<Vector<A, N>> {
  using Axis = A;
  static constexpr int kSize = N;
};

// Elements `from[position]`, widened.
template <class V, class T>
WKVC_INLINE V load_elements(const T* from) {
  using Axis = typename VectorShape<V>::Axis;
  constexpr int kSize = VectorShape<V>::kSize;
  V x;
  WKVC_EACH_SLOT(Axis, kSize, x.v[i][s] = scalar::widen(from[Axis::template position<kSize>(i, s)]));
  return x;
}

// Columns from col0 on of this head's parameters, a tensor [H, D].
template <class T, class V>
WKVC_INLINE V load_parameter(const TensorArg& t, const BlockBase& block, int col0) {
  return load_elements<V>(static_cast<const T*>(t.data) + head_offset(t, block.head) + col0);
}
// Beside a tile whose columns, or whose rows, are those of the parameters.
template <class T, int C>
WKVC_INLINE RowVec<C> load_parameter_row(const TensorArg& t, const BlockBase& block, int col0) {
  return load_parameter<T, RowVec<C>>(t, block, col0);
}
template <class T, int R>
WKVC_INLINE ColVec<R> load_parameter_column(const TensorArg& t, const BlockBase& block, int col0) {
  return load_parameter<T, ColVec<R>>(t, block, col0);
}

// Rounds to T and writes N columns from col0 on of this batch's, head's and segment's part of a parameter's gradient, a
// tensor [B, H, segments, D]; or of the gradient, a tensor [H, D].
template <class T, class Axis, int N>
WKVC_INLINE void store_parameter(const TensorArg& t, const BlockBase& block, int col0, const Vector<Axis, N>& x) {
  if (!Axis::is_first_holder()) return;
  T* to = global_row<T>(t, block, block.segment) + col0;
  WKVC_EACH_SLOT(Axis, N, to[Axis::template position<N>(i, s)] = scalar::round<T>(x.v[i][s]));
}
template <class T, int C>
WKVC_INLINE void store_parameter_row(const TensorArg& t, const BlockBase& block, int col0, const RowVec<C>& x) {
  store_parameter<T>(t, block, col0, x);
}
template <class T, int R>
WKVC_INLINE void store_parameter_column(const TensorArg& t, const BlockBase& block, int col0, const ColVec<R>& x) {
  store_parameter<T>(t, block, col0, x);
}

// sum += the rows of a head, over all batches and segments, of a tensor [B,H,segments,D].
template <int Columns, int N>
WKVC_INLINE void add_batches(RowVec<Columns>& sum, const KernelArgs<N>& args, const TensorArg& from, long long head,
                             int segments) {
  const f32* const of_head = static_cast<const f32*>(from.data) + head * from.head;
  for (long long b = 0; b < args.batches; ++b) {
    const bool in_pieces = kMapsSequences && args.piece > 0;
    const f32* row = of_head + (in_pieces ? first_piece(args, b) : b) * from.batch;
    if (in_pieces) segments = piece_count(args, tokens_of_sequence(args, b).count);
    for (int segment = 0; segment < segments; ++segment, row += from.row) {
      WKVC_EACH_SLOT(PerColumn, Columns, sum.v[i][s] += row[PerColumn::position<Columns>(i, s)]);
    }
  }
}

// The sum over all batches and segments of this head's rows of a tensor [B,H,segments,D], to a tensor [H,D]. For one
// warp.
template <class T, int Columns, int N>
WKVC_INLINE void sum_batches(const KernelArgs<N>& args, const TensorArg& to, const TensorArg& from,
                             const BlockBase& block, int segments) {
  RowVec<Columns> sum{};
  const auto add = [&](long long head) WKVC_INLINE_LAMBDA { add_batches(sum, args, from, head, segments); };
  if (for_summed_heads(to, block.head, add)) store_parameter_row<T>(to, block, 0, sum);
}

// The same block for sequence n.
template <int N>
WKVC_INLINE BlockBase of_sequence(BlockBase block, const KernelArgs<N>& args, long long n) {
  const TokenSpan span = tokens_of_sequence(args, n);
  block.batch = n;
  block.token_batch = args.starts.data != nullptr ? 0 : n;
  block.first_token = span.first;
  block.tokens = span.count;
  return block;
}

// sums += the numbers of this head, of all tokens of all sequences, in a tensor [B,T,H] of f32.
template <int Tokens, int N>
WKVC_INLINE void add_tokens(ColVec<Tokens>& sums, const KernelArgs<N>& args, const TensorArg& from,
                            const BlockBase& block) {
  for (long long n = 0; n < args.batches; ++n) {
    const BlockBase own = of_sequence(block, args, n);
    for (long long token = 0; token < own.tokens; token += Tokens) {
      const long long left = own.tokens - token;
      sums = sums + load_tokens_column<f32, Tokens>(from, own, token, left < Tokens ? static_cast<int>(left) : Tokens);
    }
  }
}

// The sum over all tokens of all sequences of this head's numbers in a tensor [B,T,H] of f32, to a tensor [H]. For one
// warp, whose lanes load many numbers at once: nothing else hides the way to memory.
template <class T, int N>
WKVC_INLINE void sum_tokens(const KernelArgs<N>& args, const TensorArg& to, const TensorArg& from,
                            const BlockBase& block) {
  constexpr int kTokens = 128;
  ColVec<kTokens> sums{};
  const auto add = [&](long long head) WKVC_INLINE_LAMBDA {
    BlockBase of_head = block;
    of_head.head = head;
    add_tokens(sums, args, from, of_head);
  };
  if (!for_summed_heads(to, block.head, add)) return;
  float sum = 0.f;
  WKVC_EACH_SLOT(PerRow, kTokens, sum += sums.v[i][s]);
  sum = lanes::sum_row_groups(sum);
  if (lanes::is_first()) static_cast<T*>(to.data)[head_offset(to, block.head)] = scalar::round<T>(sum);
}

}  // namespace wkvc
