// What a caller of an emitted kernel has to know. It travels as one JSON line in the header comment of the emitted
// text ("// wkvc-manifest: {...}"), so a kernel that is fed back as text is complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/dtype.h"

namespace wkvc {

enum class Role { input, parameter, output, initial_state, final_state };

struct TensorSpec {
  std::string name;  // as in files and messages: "r", "u", "o", "initial_state"
  Role role = Role::input;
  DType dtype = DType::f32;
  std::vector<std::string> dims;  // {"B","T","H","K"}, {"H","K"}, {"B","H","V","K"}, {"B","T","H"}
};

struct Manifest {
  std::string op;      // "rwkv7"
  std::string kernel;  // symbol of the entry point
  std::string config;  // one readable line: "head 64x64 chunk 16 io bf16 mma f16 state f32"
  std::string arch;    // "sm_90a"
  int key_dim = 0, value_dim = 0, chunk = 0, warps = 0;
  std::int64_t shared_bytes = 0;    // dynamic shared memory of one block
  std::vector<TensorSpec> tensors;  // in the order of KernelArgs::tensor
};

std::string to_line(const Manifest& manifest);           // "// wkvc-manifest: {…}\n"
Manifest manifest_from(std::string_view kernel_source);  // throws UserError when the line is missing or malformed

}  // namespace wkvc
