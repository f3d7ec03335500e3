// How many segments the sequences of a launch are cut into.
#pragma once

#include <cstdint>

namespace wkvc {

// Sequences of `tokens`, `pairs` of a batch and a head, on a GPU of `sm_count` multiprocessors. Each segment of a pair
// is a block, or a cluster of blocks.
struct Cuts {
  std::int64_t tokens, pairs;
  int sm_count;

  // Returns the most segments that all run at once, each of at least so many tokens, where a segment has so many
  // blocks.
  int at_once(int least_tokens, int blocks = 1) const;

  // Returns the segments that take least time where so many blocks run at once. T tokens in s segments take
  // T / s + s · tokens_a_map, which is least at s = √(T / tokens_a_map).
  int best(int blocks_at_once, int tokens_a_map) const;

  // Returns the same where two blocks have room in a multiprocessor. Each multiprocessor has one block where few of
  // them would have two.
  int best_of_two(int tokens_a_map) const;

  // Returns the most segments, a power of 2, that give each multiprocessor up to so many blocks.
  int likely(int blocks_per_sm, int least_tokens) const;

  // Returns fewer segments if a fifth of `segments` or more can go and the longest one gets no longer, and no more than
  // there are units. Segments have whole units of so many tokens. The blocks of a sequence share the strips of its
  // state where maps are combined: as many segments as strips stay, if there are as many units.
  int evened(int segments, int unit, int strips) const;
};

}  // namespace wkvc
