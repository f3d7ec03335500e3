// Facts of a kernel that many lines of its text depend on.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

struct KernelTraits {
  bool is_cut;        // into segments, with a block for each
  bool has_teams;     // which prepare the chunks of a round
  bool goes_ahead;    // teams have warps of their own, a round ahead of the state
  bool goes_again;    // teams prepare some rounds again
  bool is_cluster;    // several blocks share a round
  bool keeps_places;  // in registers, where each tensor lies: states of wide heads leave none

  // Expressions of the text.
  const char *begin, *end;   // of the chunks that the block goes through
  const char* before_round;  // how many of these come before the round
  const char* last_segment;
  const char* copier;     // the variable of warps that copy, and whose shared memory rings lie in
  const char* value_row;  // the first of a warp's own value rows
};

KernelTraits traits_of(warp::KernelOp kernel);

}  // namespace wkvc
