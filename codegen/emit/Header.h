// The header comment of an emitted kernel: configuration, launch shape, map of shared memory, manifest.
#pragma once

#include <string>

#include "codegen/warp/Warp.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

// Returns the part of a manifest that all emitted kernels say: they wait for the kernel before (WKVC_KERNEL).
Manifest emitted_manifest(std::string op, std::string kernel, std::string arch);
// Returns the tensor of a text such as "input q bf16 B,T,H,K"; throws UserError for any other.
TensorSpec tensor_from(llvm::StringRef text);
Manifest manifest_of(warp::BatchSumOp kernel);
Manifest manifest_of(warp::HeadSumOp kernel);
Manifest manifest_of(warp::CombineOp kernel);
Manifest manifest_of(warp::KernelOp kernel);  // throws UserError for a malformed list of tensors
// Returns how outputs, or a backward kernel's gradients of outputs, are stored, each dtype once: "bf16", "bf16,f32". A
// summary has neither, and is called after its inputs.
std::string io_of(const Manifest& manifest);
// Returns what tells a kernel's text from others of its recurrence. `io`: "io bf16 ", or empty.
std::string config_of(const Manifest& manifest, const std::string& io, llvm::StringRef compute);
// "bf16", or "bf16 kv": how initial and final states are stored.
std::string state_of(const Manifest& manifest);

// "bf16, StateLayout::kv": the template arguments that say how states are stored; empty for rows of keys in f32.
std::string storage_of(const TensorSpec& states);
// The same in angle brackets, for what moves a state.
std::string stored_as(const TensorSpec& state);
// Those of what stores an intermediate state: "<4, 64, bf16>", of every 4 tokens and 64 value rows.
std::string intermediate_stored_as(const TensorSpec& states, const Manifest& manifest);

// Returns what a segment does to the state before it, by its name in templates/.
const char* map_text(llvm::StringRef kind);

// Returns what comes before a kernel: the number of parts of a head, if there are several, and the templates.
std::string preamble(const Manifest& manifest);

std::string header_comment(warp::KernelOp kernel);

}  // namespace wkvc
