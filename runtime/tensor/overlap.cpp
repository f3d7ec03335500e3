#include "runtime/tensor/overlap.h"

namespace wkvc {
namespace {

std::uint64_t step_of(const Tensor& tensor, std::size_t dim) {
  return static_cast<std::uint64_t>(tensor.strides[dim]) * size_of(tensor.dtype);
}

// The bytes that dimensions whose steps are no multiples of `modulus` reach over.
std::uint64_t reach_modulo(const Tensor& tensor, std::uint64_t modulus) {
  std::uint64_t reach = size_of(tensor.dtype);
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] <= 1) continue;
    const std::uint64_t step = step_of(tensor, i);
    if (step == modulus) continue;
    if (step < modulus || step % modulus != 0) reach += static_cast<std::uint64_t>(tensor.shape[i] - 1) * step;
  }
  return reach;
}

bool apart_modulo(const Tensor& a, const Tensor& b, std::uint64_t modulus) {
  if (address_of(a) > address_of(b)) return apart_modulo(b, a, modulus);
  const std::uint64_t distance = (address_of(b) - address_of(a)) % modulus;
  return reach_modulo(a, modulus) <= distance && reach_modulo(b, modulus) <= modulus - distance;
}

// Whether they are apart modulo one of the strides of `strided`.
bool apart_modulo_strides_of(const Tensor& strided, const Tensor& a, const Tensor& b) {
  for (std::size_t i = 0; i < strided.shape.size(); ++i) {
    const bool steps = strided.shape[i] > 1 && strided.strides[i] > 0;
    if (steps && apart_modulo(a, b, step_of(strided, i))) return true;
  }
  return false;
}

}  // namespace

bool overlaps_itself(const Tensor& tensor) {
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] <= 1) continue;
    std::int64_t reach = 0;  // offset of the last element of the dimensions of smaller strides, or of an equal one
    for (std::size_t j = 0; j < tensor.shape.size(); ++j) {
      if (j != i && tensor.strides[j] <= tensor.strides[i]) reach += (tensor.shape[j] - 1) * tensor.strides[j];
    }
    if (tensor.strides[i] <= reach) return true;
  }
  return false;
}

bool never_meet(const Tensor& a, const Tensor& b) {
  if (a.data == b.data) return false;
  return apart_modulo_strides_of(a, a, b) || apart_modulo_strides_of(b, a, b);
}

}  // namespace wkvc
