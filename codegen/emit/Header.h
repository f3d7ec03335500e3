// The header comment of an emitted kernel: configuration, launch shape, map of shared memory, manifest.
#pragma once

#include <string>

#include "codegen/warp/Warp.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

Manifest manifest_of(warp::BatchSumOp kernel);
Manifest manifest_of(warp::HeadSumOp kernel);
Manifest manifest_of(warp::CombineOp kernel);
Manifest manifest_of(warp::KernelOp kernel);  // throws UserError for a malformed list of tensors
// Returns how outputs, or a backward kernel's gradients of outputs, are stored, each dtype once: "bf16", "bf16,f32". A
// summary has neither, and is called after its inputs.
std::string io_of(const Manifest& manifest);
// "bf16", or "bf16 kv": how initial and final states are stored.
std::string state_of(const Manifest& manifest);

// The template arguments of what moves a state: none for rows of keys in f32.
std::string stored_as(const TensorSpec& state);
// Those of what stores an intermediate state: "<4, 64, bf16>", of every 4 tokens and 64 value rows.
std::string intermediate_stored_as(const TensorSpec& states, const Manifest& manifest);

// How the warps of a kernel that combines segments share the work: each K/16 have 16 rows of the state.
struct CombiningWarps {
  int groups = 1;  // of 16 rows in a block: a divisor of all, as few as the blocks of a sequence need to have all rows
  int splits = 1;  // of the keys that a full map contracts over, while a block has warps for that
};
CombiningWarps combining_warps(warp::CombineOp combine);
int map_rows_at_once(int64_t keys);  // that such a kernel copies of a full map: a divisor of the keys

std::string header_comment(warp::KernelOp kernel);

}  // namespace wkvc
