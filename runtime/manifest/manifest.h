// What a caller of an emitted kernel has to know. It travels as one JSON line in the header comment of the emitted
// text ("// wkvc-manifest: {...}"), so a kernel that is fed back as text is complete. A text of several kernels has one
// such line for each, in the order they are launched in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor/dtype.h"

namespace wkvc {

// Gradients are called "d" and the name of what they are the gradient of: "do", "dr", "dfinal_state".
enum class Role {
  input,
  parameter,
  output,
  initial_state,
  final_state,
  intermediate_states,     // a result, behind every states_every tokens
  output_gradient,         // given, in the layout of that output
  final_state_gradient,    // given
  input_gradient,          // a result, in the layout of that input
  parameter_gradient,      // a result, summed over batches and tokens
  initial_state_gradient,  // a result
  saved_states,            // every saved_every chunks, written by a forward kernel and read by a backward one
  kept,                    // of each token, written by a forward kernel for a backward one
  workspace,               // written by one kernel and read by a later one
};

std::string_view name_of(Role role);  // as in the manifest: "output_gradient"
std::optional<Role> role_from(std::string_view name);
std::string role_names();  // all of them, for messages

bool is_result(Role role);          // what the caller wants: outputs, the final state, gradients that come out
bool is_gradient(Role role);        // of them, gradients
bool is_internal(Role role);        // between kernels: saved states, what is kept, workspaces
bool is_between_passes(Role role);  // of them, from the forward pass to the backward pass
bool holds_state(Role role);        // the initial or the final state
bool is_optional(Role role);        // may be left out: states, also intermediate ones, and their gradients

struct TensorSpec {
  std::string name;  // as in files and messages: "r", "u", "o", "initial_state"
  Role role = Role::input;
  DType dtype = DType::f32;
  // {"B","T","H","K"}, {"H","K"}, {"B","H","V","K"}, {"B","T","H"}; S in place of H where several heads share one.
  // Saved states are {"B","H","N","V","K"}, where N = ⌈⌈T/chunk⌉/saved_every⌉, and intermediate states
  // {"B","M","H","V","K"}, where M = ⌊T/states_every⌋; workspaces may have any dimensions behind B and H, among them
  // G = saved_every.
  std::vector<std::string> dims;
};

// The blocks that each head of a sequence has.
struct HeadBlocks {
  int segments, of_segment;
};

// The heads of a tensor for each head of a launch, and the values of each.
struct Heads {
  std::int64_t each, values;
};

// What a gradient is the gradient of: "o" for "do".
std::string_view differentiated(const TensorSpec& gradient);

enum class Direction { forward, backward };
enum class Grid { batch_head, head };  // one block for each batch and head, or for each head

struct Manifest {
  std::string op;      // "rwkv7"
  std::string kernel;  // symbol of the entry point
  std::string config;  // one readable line: "head 64x64 chunk 16 io bf16 mma f16 state f32"
  std::string arch;    // "sm_90a"
  int key_dim = 0, value_dim = 0, chunk = 0, warps = 0;  // value_dim: of the part of a head that a block has
  std::int64_t shared_bytes = 0;                         // dynamic shared memory of one block
  std::vector<TensorSpec> tensors;                       // in the order of KernelArgs::tensor
  Direction pass = Direction::forward;
  int saved_every = 0;   // chunks between saved states; 0: none are saved
  int states_every = 0;  // tokens between intermediate states; 0: there are none
  Grid grid = Grid::batch_head;
  int segments = 1;  // of each sequence, with a block for each
  int cluster = 1;   // blocks instead of each of these
  int parts = 1;     // that the value rows of a head are dealt to: kernels count them as heads
  // Only does what the kernel before it has refused to, which then has left no state: docs/architecture.md, Guards.
  bool refused = false;
  // Waits by itself until the kernel before it in the stream has ended, as WKVC_KERNEL does.
  bool waits = false;
  // The tensors that a kernel of warp groups moves as tiles, in the order of MappedArgs::map: boxes of `chunk` rows and
  // 128 bytes.
  std::vector<std::string> maps = {};

  int blocks() const { return segments * cluster; }  // of each sequence, and head as kernels count heads
  HeadBlocks head_blocks() const { return {segments, cluster * parts}; }
  int head_values() const { return value_dim * parts; }
  Heads counted_heads() const { return {parts, value_dim}; }  // as kernels count heads
  Heads heads_of(Role role) const { return is_internal(role) ? counted_heads() : Heads{1, head_values()}; }
};

// A number that the kernels of one text have in common.
struct CommonNumber {
  const char* name;
  int Manifest::* member;
};

std::span<const CommonNumber> common_numbers();

std::string to_line(const Manifest& manifest);  // "// wkvc-manifest: {…}\n"

// Of every kernel of a text; throws UserError when there is none or one is malformed.
std::vector<Manifest> manifests_from(std::string_view source);

Manifest manifest_from(std::string_view kernel_source);  // of its only kernel; throws UserError when there are more

}  // namespace wkvc
