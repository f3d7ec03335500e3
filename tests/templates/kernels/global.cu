#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Copies x chunk by chunk to y, and its transpose through output_transposed to z; m gets the chunk's maximum, found
// in two ways. Tensors: x [B,T,H,D] in T, y and z alike, m [B,chunks,H,16] f32.
template <class T, int C, int D, template <class, int, int> class Layout = Padded>
WKVC_INLINE void copies(const KernelArgs<4>& args, const Block& block) {
  const Ring<T, C, D, 2, Layout> ring{block.memory};
  float* const slots = block.floats(2 * Layout<T, C, D>::bytes);
  float* const chunk_max = slots + 32;
  Copies<T, C, D, 2, 2, Layout> copies;
  copies.template take<1>(args, block, copied(block.warps - 1, args.tensor[0], ring, chunk_max));
  const int chunks = chunk_count<C>(args.tokens);
  copies.copy(args, block, 0);
  commit_copies();
  for (int chunk = 0; chunk < chunks; ++chunk) {
    if (chunk + 1 < chunks) copies.copy(args, block, chunk + 1);
    commit_copies();
    wait_copies<1>();
    copies.publish_maxima(block, chunk);
    block.barrier();
    const auto x = ring[chunk];
    const int valid = valid_rows<C>(args.tokens, chunk);
    float own = 0.f;
    for (int column = 16 * block.warp; column < D; column += 16 * block.warps) {
      const auto slab = x.template cols<16>(column);
      own = scalar::max(own, max_abs(widen(load(slab))));
      store_outputs(args, chunk, valid, output<T>(OutputRows<T>(args.tensor[1], block), column, widen(load(slab))),
                    output_transposed<T>(OutputRows<T>(args.tensor[2], block), column, widen(load_transposed(slab))));
    }
    publish_maxima(block, maximum(zeros<16, 16>() + own, slots));
    block.barrier();
    const float of_warps = block_max(slots, block);
    if (block.warp == 0) {
      f32* const m = global_row<f32>(args.tensor[3], block, chunk);
      // The maximum only if both are it.
      WKVC_EACH_SLOT(PerColumn, 16, m[PerColumn::position<16>(i, s)] = 2.f * of_warps - *chunk_max);
    }
    block.barrier();
  }
}

#define CASE(T, C, D, WARPS) \
  WKVC_KERNEL(copies_##T##_##C##_##D##_##WARPS, 4, WARPS, 1) { copies<T, C, D>(args, block); }
CASE(f32, 16, 64, 4)
CASE(f16, 16, 64, 1)
CASE(bf16, 16, 64, 4)
CASE(bf16, 32, 128, 3)

#define EXCHANGED(T, C, D, WARPS) \
  WKVC_KERNEL(copies_exchanged_##T##_##C##_##D, 4, WARPS, 1) { copies<T, C, D, Exchanged>(args, block); }
EXCHANGED(bf16, 16, 64, 4)
EXCHANGED(f16, 32, 128, 1)
EXCHANGED(bf16, 16, 32, 2)
EXCHANGED(f16, 48, 48, 1)

// Copies x to y through a ring, from the last chunk to the first. Tensors: x [B,T,H,D] in T, y alike.
template <class T, int C, int D, int STAGES>
WKVC_INLINE void backwards(const KernelArgs<2>& args, const Block& block) {
  const int chunks = chunk_count<C>(args.tokens);
  const Ring<T, C, D, STAGES> ring{block.memory};
  Copies<T, C, D, STAGES, 1> copies;
  copies.template take<0>(args, block, copied(0, args.tensor[0], ring));
  const auto fetch_chunk = [&](int chunk) {
    if (chunk >= 0) copies.copy(args, block, chunk);
    commit_copies();
  };
  for (int stage = 0; stage < STAGES; ++stage) fetch_chunk(chunks - 1 - stage);
  for (int chunk = chunks - 1; chunk >= 0; --chunk) {
    wait_copies<STAGES - 1>();
    block.barrier();
    // Rows past the end are zero: their sum changes nothing.
    const auto x = widen(load(ring[chunk]));
    const int valid = valid_rows<C>(args.tokens, chunk);
    const auto past = x - keep_rows(x, valid);
    if (block.warp == 0)
      store_outputs(args, chunk, valid, output<T>(OutputRows<T>(args.tensor[1], block), 0, x + sum_rows(past)));
    block.barrier();
    fetch_chunk(chunk - STAGES);
  }
  wait_copies<0>();
}

WKVC_KERNEL(backwards_f32_2, 2, 4, 1) { backwards<f32, 16, 64, 2>(args, block); }
WKVC_KERNEL(backwards_bf16_3, 2, 1, 1) { backwards<bf16, 32, 16, 3>(args, block); }

// Tensors: state [B,H,V,K], new state, parameters [H,K] in bf16 as [1,1,H,K]. The new state is (state + 1) *
// parameters.
WKVC_KERNEL(states, 3, 4, 1) {
  Tile<f32, 16, 64> state;
  load_state(state, args.tensor[0], block, 16 * block.warp);
  const auto parameters = load_parameter_row<bf16, 64>(args.tensor[2], block, 0);
  store_state((state + 1.f) * parameters, args.tensor[1], block, 16 * block.warp);
}

// Tensors: states [B,H,N*V,K] f32, the same as they are kept, in T, and the sum of two ways to load those, in f32.
template <class T>
WKVC_INLINE void kept_states(const KernelArgs<3>& args, const Block& block) {
  const auto staged = block.staged<T, 32>(0, 16 * block.warp);
  for (long long row = 16 * block.warp; row < args.tokens; row += 16 * block.warps) {
    Tile<f32, 16, 32> state;
    load_state(state, args.tensor[0], block, row);
    keep_state<T>(state, args.tensor[1], block, row);
    copy_kept_state(staged, args.tensor[1], block, row);
    commit_copies();
    wait_copies<0>();
    store_state(widen(load_kept_state<T, 32>(args.tensor[1], block, row)) + widen(load_kept_state(staged)),
                args.tensor[2], block, row);
  }
}

WKVC_KERNEL(kept_states_f32, 3, 2, 1) { kept_states<f32>(args, block); }
WKVC_KERNEL(kept_states_f16, 3, 2, 1) { kept_states<f16>(args, block); }
WKVC_KERNEL(kept_states_bf16, 3, 2, 1) { kept_states<bf16>(args, block); }

// Tensors: x [B,T,H] in T, twice as much through columns and through rows, and, for whole chunks, x repeated 16 times
// by a tile of tokens x 16 and by one of 16 x tokens.
template <class T, int C>
WKVC_INLINE void token_numbers(const KernelArgs<5>& args, const Block& block) {
  for (int chunk = 0; chunk < chunk_count<C>(args.tokens); ++chunk) {
    const long long token = static_cast<long long>(C) * chunk;
    const int valid = valid_rows<C>(args.tokens, chunk);
    const ColVec<C> column = load_tokens_column<T, C>(args.tensor[0], block, token, valid);
    const RowVec<C> row = load_tokens_row<T, C>(args.tensor[0], block, token, valid);
    store_tokens<T>(args.tensor[1], block, token, valid, column + column);
    store_tokens<T>(args.tensor[2], block, token, valid, row + row);
    store_outputs(args, chunk, C, output<f32>(OutputRows<f32>(args.tensor[3], block), 0, zeros<C, 16>() + column),
                  output_transposed<f32>(OutputRows<f32>(args.tensor[4], block), 0, zeros<16, C>() + row));
  }
}

WKVC_KERNEL(token_numbers_f32_16, 5, 1, 1) { token_numbers<f32, 16>(args, block); }
WKVC_KERNEL(token_numbers_bf16_32, 5, 1, 1) { token_numbers<bf16, 32>(args, block); }

// Tensors: x [B,16,H,D] f32, the sum of its rows [B,1,H,D] in T.
template <class T>
WKVC_INLINE void parameter_gradient(const KernelArgs<2>& args, const Block& block) {
  const auto sum = sum_rows(read<f32, 16, 64>(args.tensor[0], block));
  store_row(block.floats(16384), sum);
  store_parameter_row<T, 32>(args.tensor[1], block, 0, load_row<32>(block.floats(16384)));
  store_parameter_row<T, 32>(args.tensor[1], block, 32, load_row<32>(block.floats(16384) + 32));
}

// Tensors: parameters [1,1,H,D] in T, twice as much of each, through columns.
template <class T>
WKVC_INLINE void parameter_column(const KernelArgs<2>& args, const Block& block) {
  const ColVec<48> x = load_parameter_column<T, 48>(args.tensor[0], block, 0);
  store_parameter_column<T, 32>(args.tensor[1], block, 0, load_parameter_column<T, 32>(args.tensor[0], block, 0) * 2.f);
  store_column(block.floats(0), x + x);
  block.barrier();
  store_parameter_column<T, 16>(args.tensor[1], block, 32, load_column<16>(block.floats(0) + 32));
}

WKVC_KERNEL(parameter_column_f32, 2, 1, 1) { parameter_column<f32>(args, block); }
WKVC_KERNEL(parameter_column_f16, 2, 1, 1) { parameter_column<f16>(args, block); }
WKVC_KERNEL(parameter_column_bf16, 2, 1, 1) { parameter_column<bf16>(args, block); }

WKVC_KERNEL(parameter_gradient_f32, 2, 1, 1) { parameter_gradient<f32>(args, block); }
WKVC_KERNEL(parameter_gradient_f16, 2, 1, 1) { parameter_gradient<f16>(args, block); }
WKVC_KERNEL(parameter_gradient_bf16, 2, 1, 1) { parameter_gradient<bf16>(args, block); }

// Tensors: parts [B,segments,H,D] f32 of as many segments as tokens, their sum [1,1,H,D] in T.
template <class T>
WKVC_INLINE void batch_sum(const KernelArgs<2>& args, const Block& block) {
  if (block.batch == 0) {
    sum_batches<T, 48>(args, args.tensor[1], args.tensor[0], block, static_cast<int>(args.tokens));
  }
}

WKVC_KERNEL(batch_sum_f32, 2, 1, 1) { batch_sum<f32>(args, block); }
WKVC_KERNEL(batch_sum_f16, 2, 1, 1) { batch_sum<f16>(args, block); }
WKVC_KERNEL(batch_sum_bf16, 2, 1, 1) { batch_sum<bf16>(args, block); }
