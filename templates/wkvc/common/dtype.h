// Element types. The 16-bit ones are bit patterns; a target converts them.
#pragma once

namespace wkvc {

using u32 = unsigned int;
using u64 = unsigned long long;

using f32 = float;

struct f16 {
  unsigned short bits;
};

struct bf16 {
  unsigned short bits;
};

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

}  // namespace wkvc
