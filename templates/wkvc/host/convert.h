// Floating point of fewer bits in software, round to nearest even. Works on bit patterns, so others may use it too.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace wkvc::host {

inline float widen_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

inline float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | magnitude << 13);  // infinity, NaN
  // Seen as an f32 its exponent is 112 too small. The product is exact, subnormal numbers included.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

inline std::uint16_t round_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline float round_tf32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return x;
  return std::bit_cast<float>((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u);
}

inline std::uint16_t round_f16(float x) {
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) >> 16 & 0x8000u;
  const float magnitude = std::fabs(x);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude);
  if (std::isnan(x)) {
    bits = 0x7fff;
  } else if (magnitude >= 65520.f) {
    bits = 0x7c00;
  } else if (magnitude < 0x1p-14f) {  // subnormal: adding 1/2 rounds to multiples of 2^-24, the last bit there is
    bits = std::bit_cast<std::uint32_t>(magnitude + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
  } else {
    bits = (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | bits);
}

}  // namespace wkvc::host
