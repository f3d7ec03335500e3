// What distinguishes one tuning task from another, and how far apart two sizes are.
#pragma once

#include <compare>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json_fields.h"
#include "runtime/launch/launch_size.h"
#include "runtime/tensor/dtype.h"

namespace wkvc {

struct ShapeClass {
  std::string op;                  // "rwkv7"
  std::string pass = "forward";    // forward, or both
  DType io = DType::bf16;          // storage of inputs and outputs
  int key_dim = 0, value_dim = 0;  // of a head
  std::string accuracy = "any";    // operands of contractions asked for: f16, bf16, f32; any: whatever is within bound
  LaunchSize size;
  bool operator==(const ShapeClass&) const = default;
};

bool same_kind(const ShapeClass& a, const ShapeClass& b);  // equal in all but the size

std::string text_of(LaunchSize size);                // as --shape takes it: "8,4096,64"
std::string text_of(const ShapeClass& shape_class);  // "rwkv7 both 8,4096,64, head 64x64, io bf16, mma f16"

// Batch and head pairs that come to one SM: ⌈B·H / SMs⌉.
std::int64_t blocks_for_one_sm(LaunchSize size, int sm_count);

// How far two sizes on their GPUs are apart for tuning. What counts first is how many blocks come to one SM, as it
// decides whether latency or throughput bounds a kernel and what occupancy is good for; then the number of tokens; then
// batch and head pairs. All are |log2| of the ratio, so that half and double are equally far. Sizes of 0 count as 1.
struct SizeDistance {
  double blocks = 0, tokens = 0, pairs = 0;
  auto operator<=>(const SizeDistance&) const = default;
};
SizeDistance distance(LaunchSize a, int sm_count_of_a, LaunchSize b, int sm_count_of_b);

// True for sizes so close that settings of one do for the other: no more than twice the blocks or the tokens, and √2
// times the pairs.
bool is_near(const SizeDistance& distance);

// As keys of a larger object: "op", "pass", "io", "head", "accuracy", "shape".
const std::vector<std::string_view>& shape_class_keys();
void add_shape_class(nlohmann::ordered_json& object, const ShapeClass& shape_class);
ShapeClass shape_class_from(const JsonFields& fields);  // throws UserError

// {"B": 8, "T": 4096, "H": 64}
nlohmann::ordered_json size_json(LaunchSize size);
LaunchSize size_from_json(const nlohmann::json& object, const std::string& what);  // throws UserError

}  // namespace wkvc
