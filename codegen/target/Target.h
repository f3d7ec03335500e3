// What kernels are compiled for: limits of the hardware, and numbers that were measured on it. Needs no MLIR.
#pragma once

#include <cstdint>
#include <string_view>

namespace wkvc {

struct GpuTarget {
  std::string_view arch;     // "sm_90a"
  std::string_view gpus;     // that run its code, for messages
  int compute_major;         // of the one compute capability
  int compute_minor;         // that its code runs on
  std::string_view gpu;      // the GPU that the numbers below were measured on
  int sm_count;              // of that GPU
  double clock_hz;           // of that GPU, and the rest, too
  double bytes_per_second;   // of a copy
  double tensor_flops;       // of contractions whose operands have 16 bits
  double fma_flops;          // of contractions in f32
  double instruction_bytes;  // of machine code
  double cycles_alone;       // an instruction of one warp takes on a scheduler that has no other one
  double cycles_together;    // and where several share the scheduler

  struct Multiprocessor {
    std::int64_t shared_bytes, registers;
    int warps, blocks, schedulers;
  } sm;

  struct Block {
    std::int64_t shared_bytes;    // that a kernel may ask for
    std::int64_t reserved_bytes;  // beside these, by the system
    std::int64_t shared_granule;  // of what is allocated
    int warps;
    int barriers;  // with a name; one of them is the block's own
    int cluster;   // blocks of a cluster
  } block;

  struct Warp {
    int threads;
    int registers;                  // of a thread at most
    std::int64_t register_granule;  // of a warp
  } warp;

  // Choices that depend on what was faster. Below is how much.
  struct Choices {
    int wide_keys;               // heads with more keys are wide: states of theirs leave few registers
    int share_columns;           // that a warp of a team may take as one slab
    int held_registers;          // a lane has for operands that it loads before the phase that reads them
    int registers_beside_state;  // a guess, of a thread
    int registers_beside_rows;   // of a wide state and of the same rounded, where other warps prepare chunks ahead,
    int registers_to_prepare;    // and what a thread of those keeps at least
    int segment_blocks;          // a multiprocessor should have where sequences are few
    int tried_segment_blocks;    // at most, of configurations that the tuner tries
    int least_segments;          // that gain something: each segment is gone through twice
    int least_segment_tokens, likely_segment_tokens;  // at least; without measuring
    int guarded_tokens;  // of a forward pass: for fewer the launch of a second kernel takes longer than scales do
  } choices;

  // Heads so wide that registers are short: a kernel then loads what it would compute again for others, takes one state
  // after the other, and contracts by groups of warps.
  constexpr bool is_wide(std::uint64_t keys) const { return keys > static_cast<std::uint64_t>(choices.wide_keys); }
  constexpr int most_teams() const { return block.barriers - 1; }  // of one block, each with a barrier of its own

  // Registers of each thread where a multiprocessor holds so many blocks, and warps with so many registers a thread.
  constexpr std::int64_t registers_of_thread(std::int64_t blocks, std::int64_t warps) const {
    const std::int64_t unit = warp.register_granule / warp.threads;
    const std::int64_t even = sm.registers / (blocks * warps * warp.threads) / unit * unit;
    return even < warp.registers ? even : warp.registers;
  }
  constexpr std::int64_t warps_of_registers(std::int64_t of_thread) const {
    const std::int64_t unit = warp.register_granule / warp.threads;
    return sm.registers / ((of_thread + unit - 1) / unit * unit * warp.threads);
  }
  // Blocks that a multiprocessor has shared memory for.
  constexpr std::int64_t blocks_by_shared(std::int64_t bytes) const {
    return sm.shared_bytes / (bytes + block.reserved_bytes);
  }
};

// H100 and H200. Measured:
// - wide_keys (8,4096,32,128 and 8,4096,64,64, both passes): wide heads take 9.16 instead of 9.80 ms with exponentials
//   stored, narrow ones 4.89 instead of 4.76. Backward, wide heads take 4.37 ms one state after the other, and 4.98
//   both at once, where 344 bytes of registers spill; with one factor kept in f16 (Factors.h) all fits.
//   Contractions by groups: 4.05 instead of 4.22 ms backward; forward 4.08 instead of 4.16 with what updates states,
//   and 4.14 with what is made of them, too. Narrow heads with two updates a state take 2.64 instead of 2.70 ms, with
//   one 2.28 instead of 2.23.
// - Joined decays (8,4096,32,128, both passes): 3.86 instead of 4.05 ms.
// - held_registers: two states of 64 values in shares of 32 columns, or one of 128.
// - registers_beside_rows, registers_to_prepare: forward, heads of 128. With 16 warps 144 registers for the state and
//   112 for others take 2 to 5 % less than 128 for all; 160 and 96 take 2 % more where preparing is long. With 20
//   warps and little to prepare, 128 and 72 take a third of the time of 96 each. Times are in docs/experiments.md,
//   Decays of one number a token.
// - segment_blocks, least_segments, guarded_tokens: docs/experiments.md.
// - cycles_alone, cycles_together: read off profiles, docs/experiments.md.
inline constexpr GpuTarget sm_90a{
    .arch = "sm_90a",
    .gpus = "H100, H200",
    .compute_major = 9,
    .compute_minor = 0,
    .gpu = "NVIDIA H200",
    .sm_count = 132,
    .clock_hz = 1.755e9,
    .bytes_per_second = 4.30e12,
    .tensor_flops = 790e12,
    .fma_flops = 60e12,
    .instruction_bytes = 16,
    .cycles_alone = 4,
    .cycles_together = 2.2,
    .sm = {.shared_bytes = 228 * 1024, .registers = 65536, .warps = 64, .blocks = 32, .schedulers = 4},
    .block = {.shared_bytes = 227 * 1024,
              .reserved_bytes = 1024,
              .shared_granule = 128,
              .warps = 32,
              .barriers = 16,
              .cluster = 8},
    .warp = {.threads = 32, .registers = 255, .register_granule = 256},
    .choices = {.wide_keys = 64,
                .share_columns = 32,
                .held_registers = 64,
                .registers_beside_state = 96,
                .registers_beside_rows = 48,
                .registers_to_prepare = 72,
                .segment_blocks = 4,
                .tried_segment_blocks = 8,
                .least_segments = 4,
                .least_segment_tokens = 128,
                .likely_segment_tokens = 256,
                .guarded_tokens = 32},
};

// The GPU that kernels are for: texts, options, commands and programs ask these two. Another one takes instructions of
// its own in templates/wkvc/cuda.
constexpr bool is_target(std::string_view arch) { return arch == sm_90a.arch; }
constexpr bool runs_kernels(int compute_major, int compute_minor) {
  return compute_major == sm_90a.compute_major && compute_minor == sm_90a.compute_minor;
}

}  // namespace wkvc
