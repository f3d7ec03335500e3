// Storage dtypes of tensors and their conversions on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace wkvc {

enum class DType { f32, f16, bf16 };

std::size_t size_of(DType dtype);       // bytes
std::string_view name_of(DType dtype);  // "f32", "f16", "bf16"
std::optional<DType> dtype_from(std::string_view name);

// Element `i` of an array of `dtype`, widened exactly, and its inverse, rounded to nearest even.
double load_element(DType dtype, const void* data, std::size_t i);
void store_element(DType dtype, void* data, std::size_t i, double value);

}  // namespace wkvc
