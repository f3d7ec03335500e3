// The header comment of an emitted kernel: configuration, launch shape, map of shared memory, manifest.
#pragma once

#include <string>

#include "codegen/warp/Warp.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

// Returns the part of a manifest that all emitted kernels say: they wait for the kernel before (WKVC_KERNEL).
Manifest emitted_manifest(std::string op, std::string kernel, std::string arch);
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

std::string header_comment(warp::KernelOp kernel);

}  // namespace wkvc
