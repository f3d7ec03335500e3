// Tensors whose dtype and rank the compiler checks: what the functions that `wkvc pack` generates take.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "runtime/tensor/tensor.h"

namespace wkvc {

// A C++ type that may hold elements of a dtype: float for f32, any type of two bytes (__half, __nv_bfloat16,
// std::uint16_t …) for f16 and bf16; void takes the caller's word.
template <class T, DType dtype>
inline constexpr bool is_element = std::is_void_v<T>;
template <class T>
  requires(!std::is_void_v<T>)
inline constexpr bool is_element<T, DType::f32> = std::is_same_v<std::remove_const_t<T>, float>;
template <class T>
  requires(!std::is_void_v<T>)
inline constexpr bool is_element<T, DType::f16> = sizeof(T) == 2;
template <class T>
  requires(!std::is_void_v<T>)
inline constexpr bool is_element<T, DType::bf16> = sizeof(T) == 2;

// A view of `rank` dimensions; the default is a tensor that is left out. Strides count elements.
template <DType dtype, std::size_t rank, bool written>
class TypedTensor {
 public:
  using Sizes = std::array<std::int64_t, rank>;

  TypedTensor() = default;

  // Contiguous, last dimension fastest.
  template <class T>
    requires(is_element<T, dtype> && !(written && std::is_const_v<T>))
  TypedTensor(T* data, const Sizes& shape) : TypedTensor(data, shape, contiguous(shape)) {}

  template <class T>
    requires(is_element<T, dtype> && !(written && std::is_const_v<T>))
  TypedTensor(T* data, const Sizes& shape, const Sizes& strides)
      : data_(const_cast<std::remove_const_t<T>*>(data)), shape_(shape), strides_(strides) {}

  operator Tensor() const {
    if (data_ == nullptr) return {};
    return {data_, dtype, Extents(std::span(shape_)), Extents(std::span(strides_))};
  }

 private:
  static Sizes contiguous(const Sizes& shape) {
    Sizes strides{};
    std::int64_t stride = 1;
    for (std::size_t i = rank; i-- > 0; stride *= shape[i]) strides[i] = stride;
    return strides;
  }

  void* data_ = nullptr;  // kernels do not write through those that were const
  Sizes shape_{}, strides_{};
};

template <DType dtype, std::size_t rank>
using Input = TypedTensor<dtype, rank, false>;
template <DType dtype, std::size_t rank>
using Result = TypedTensor<dtype, rank, true>;

}  // namespace wkvc
