#include "checking/reference/bounds.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include "runtime/error.h"

namespace wkvc {
namespace {

// The word behind `key` in the configuration: "head 64x64 chunk 16 io bf16 mma f16 state f32".
std::string setting(const Manifest& manifest, std::string_view key) {
  std::istringstream words(manifest.config);
  for (std::string word; words >> word;) {
    if (word == key && words >> word) return word;
  }
  user_error("the configuration in the kernel's manifest, \"{}\", does not say \"{}\"", manifest.config, key);
}

struct Operands {
  std::string_view dtype;
  double of_result, of_gradient;  // bounds
  double bits;                    // as many significant ones cost as much as the kernels' roundings do
  double rest_bits = 18;          // of what is left where products cancel
};

const Operands& operands_of(const Manifest& manifest) {
  // With bf16 some contractions have f16 operands; with f32 sums cost more than operands. With bf16x3 products that
  // cancel leave low·low out, each another one.
  static constexpr std::array<Operands, 5> known{{{"f16", 1.8e-3, 2e-3, 11},
                                                  {"bf16", 3.2e-3, 4.5e-3, 8.5},
                                                  {"tf32", 1.8e-3, 2e-3, 11},
                                                  {"bf16x3", 2e-5, 2e-5, 16.5, 15},
                                                  {"f32", 1e-5, 2e-5, 20}}};
  const std::string mma = setting(manifest, "mma");
  const auto* const operands = std::ranges::find(known, mma, &Operands::dtype);
  if (operands != known.end()) return *operands;
  user_error("the kernel's manifest names operands of '{}', for which no bound is known", mma);
}

DType saved_as(const Manifest& manifest) {
  const auto saved = std::ranges::find(manifest.tensors, Role::saved_states, &TensorSpec::role);
  return saved == manifest.tensors.end() ? DType::f32 : saved->dtype;
}

// What the states cost gradients when they are saved as `dtype`.
double saving_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 2.5e-3;
    case DType::f16:
      return 3.2e-4;
    case DType::f32:
      return 0;
  }
  internal_error("{} is no DType", static_cast<int>(dtype));
}

int significant_bits(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 8;
    case DType::f16:
      return 11;
    case DType::f32:
      return 24;
  }
  internal_error("{} is no DType", static_cast<int>(dtype));
}

}  // namespace

double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 1.8e-3;
    case DType::f16:
      return 2.5e-4;
    case DType::f32:
      return 0;
  }
  internal_error("{} is no DType", static_cast<int>(dtype));
}

double bound_for(const Manifest& manifest, const TensorSpec& spec) {
  const Operands& operands = operands_of(manifest);
  const double rounding = rounding_of(spec.dtype);
  if (!is_gradient(spec.role)) return std::max(operands.of_result, rounding);
  return std::max({operands.of_gradient, rounding, saving_of(saved_as(manifest))});
}

Precision precision_of(const Manifest& manifest) {
  const Operands& operands = operands_of(manifest);
  return {operands.bits, std::min<double>(operands.bits, significant_bits(saved_as(manifest))), operands.rest_bits};
}

}  // namespace wkvc
