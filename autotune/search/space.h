// Which configurations of a recurrence are worth trying.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/compiler.h"
#include "codegen/target/Target.h"
#include "runtime/launch/launch_size.h"

namespace wkvc {

// What the search may cost beside time.
struct SpaceLimits {
  // Sizes to be fast at, and multiprocessors there are: where sequences are many, none is cut into segments.
  std::vector<LaunchSize> sizes = {};
  int sm_count = sm_90a.sm_count;

  // Bytes of saved states a token and head. 0: as many as the default (every 64 tokens in f32).
  double saved_bytes = 0;
};

inline constexpr int most_segments = 64;     // that are tried or chosen
inline constexpr int default_distance = 64;  // tokens between saved states, in f32

// Whether sequences of this size leave so many segments enough chunks each, and multiprocessors can hold their blocks,
// so many each.
bool can_be_cut(LaunchSize size, int segments, int sm_count, int blocks_per_sm);

// `base` with every combination of what it leaves open: the chunk, the segments of a sequence, the blocks of a
// multiprocessor, the teams and rounds of the forward kernel, with clusters its scales and, where it has a backward
// pass, the distance and dtype of saved states. Storage of tensors and operands of contractions stay as they are, since
// they decide how exact results are; bf16 is not tried for saved states for the same reason. Some of these do not fit
// the range of decays or shared memory: lowering tells. Head sizes have to be set. Throws UserError where teams, rounds
// and clusters leave none.
std::vector<Config> search_space(const Config& base, const SpaceLimits& limits);

}  // namespace wkvc
