#include "tile_io.h"

using namespace wkvc;
using namespace wkvc::test;

// Copies x chunk by chunk to y, and its transpose through store_global_transposed to z; m gets the block's maximum.
// Tensors: x [B,T,H,D] in T, y and z alike, m [B,chunks,H,16] f32.
template <class T, int C, int D>
WKVC_INLINE void copies(const KernelArgs<4>& args, const Block& block) {
  constexpr int kBytes = Shared<T, C, D>::bytes;
  float* slots = block.floats(2 * kBytes);
  const auto fetch_chunk = [&](long long chunk) {
    const long long left = args.tokens - chunk * C;
    copy_async(block.shared<T, C, D>(chunk % 2 * kBytes), args.tensor[0], block, chunk * C,
               static_cast<int>(left < C ? left : C));
    commit_copies();
  };
  const long long chunks = (args.tokens + C - 1) / C;
  fetch_chunk(0);
  for (long long chunk = 0; chunk < chunks; ++chunk) {
    if (chunk + 1 < chunks) {
      fetch_chunk(chunk + 1);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    const auto x = block.shared<T, C, D>(chunk % 2 * kBytes);
    publish_max(slots, block, copied_max(x, block));
    block.barrier();
    const float largest = block_max(slots, block);
    const int valid = static_cast<int>(args.tokens - chunk * C);
    for (int column = 16 * block.warp; column < D; column += 16 * block.warps) {
      const auto slab = x.template cols<16>(column);
      store_global<T>(args.tensor[1], block, chunk * C, valid, column, widen(load(slab)));
      store_global_transposed<T>(args.tensor[2], block, chunk * C, valid, column, widen(load_transposed(slab)));
    }
    if (block.warp == 0) store_global<f32>(args.tensor[3], block, chunk, 1, 0, zeros<16, 16>() + largest);
    block.barrier();
  }
}

#define CASE(T, C, D, WARPS) \
  WKVC_KERNEL(copies_##T##_##C##_##D##_##WARPS, 4, WARPS, 1) { copies<T, C, D>(args, block); }
CASE(f32, 16, 64, 4)
CASE(f16, 16, 64, 1)
CASE(bf16, 16, 64, 4)
CASE(bf16, 32, 128, 3)

// Copies x to y through a ring, from the last chunk to the first. Tensors: x [B,T,H,D] in T, y alike.
template <class T, int C, int D, int STAGES>
WKVC_INLINE void backwards(const KernelArgs<2>& args, const Block& block) {
  const long long chunks = (args.tokens + C - 1) / C;
  BackwardRing<T, C, D, STAGES> ring(block.memory, args.tensor[0], block, chunks - 1);
  long long next = chunks - 1;
  for (int stage = 0; stage < STAGES; ++stage, --next) {
    ring.copy(next, block, args.tokens);
    commit_copies();
  }
  for (long long chunk = chunks - 1; chunk >= 0; --chunk, --next) {
    wait_copies<STAGES - 1>();
    block.barrier();
    // Rows past the end are zero: their sum changes nothing.
    const auto x = widen(load(ring[chunk]));
    const auto past = x - keep_rows(x, valid_rows<C>(args.tokens, chunk));
    if (block.warp == 0) {
      store_global<T>(args.tensor[1], block, chunk * C, valid_rows<C>(args.tokens, chunk), 0, x + sum_rows(past));
    }
    block.barrier();
    ring.copy(next, block, args.tokens);
    commit_copies();
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

// Tensors: states [B,H,N*V,K] stored as T, twice as much of each.
template <class T>
WKVC_INLINE void saved_states(const KernelArgs<2>& args, const Block& block) {
  for (long long row = 16 * block.warp; row < args.tokens; row += 16 * block.warps) {
    Tile<f32, 16, 32> state;
    load_state<T>(state, args.tensor[0], block, row);
    store_state<T>(state + state, args.tensor[1], block, row);
  }
}

WKVC_KERNEL(saved_states_f32, 2, 2, 1) { saved_states<f32>(args, block); }
WKVC_KERNEL(saved_states_f16, 2, 2, 1) { saved_states<f16>(args, block); }
WKVC_KERNEL(saved_states_bf16, 2, 2, 1) { saved_states<bf16>(args, block); }

// Tensors: x [B,T,H] in T, twice as much through columns and through rows, and, for whole chunks, x repeated 16 times
// by a tile of tokens x 16 and by one of 16 x tokens.
template <class T, int C>
WKVC_INLINE void token_numbers(const KernelArgs<5>& args, const Block& block) {
  for (long long token = 0; token < args.tokens; token += C) {
    const int valid = static_cast<int>(args.tokens - token);
    const ColVec<C> column = load_tokens_column<T, C>(args.tensor[0], block, token, valid);
    const RowVec<C> row = load_tokens_row<T, C>(args.tensor[0], block, token, valid);
    store_tokens<T>(args.tensor[1], block, token, valid, column + column);
    store_tokens<T>(args.tensor[2], block, token, valid, row + row);
    store_global<f32>(args.tensor[3], block, token, C, 0, zeros<C, 16>() + column);
    store_global_transposed<f32>(args.tensor[4], block, token, C, 0, zeros<16, C>() + row);
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

// Tensors: parts [B,1,H,D] f32, their sum over the batches [1,1,H,D] in T.
template <class T>
WKVC_INLINE void batch_sum(const KernelArgs<2>& args, const Block& block) {
  if (block.batch == 0) sum_batches<T, 48>(args.tensor[1], args.tensor[0], block, args.batches);
}

WKVC_KERNEL(batch_sum_f32, 2, 1, 1) { batch_sum<f32>(args, block); }
WKVC_KERNEL(batch_sum_f16, 2, 1, 1) { batch_sum<f16>(args, block); }
WKVC_KERNEL(batch_sum_bf16, 2, 1, 1) { batch_sum<bf16>(args, block); }
