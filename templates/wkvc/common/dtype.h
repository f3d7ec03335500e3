// Element types. The 16-bit ones are bit patterns; a target converts them.
#pragma once

namespace wkvc {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

using f32 = float;

// An f32 with as many digits as f16 has: the other bits are zero.
struct tf32 {
  float value;
};

// The sum of two bf16: a number rounded, and what that left of the number, rounded. Contracted in three products. Where
// the terms of a tile's elements lie is the target's choice; an element takes as many bytes in either.
struct bf16x3 {
  u16 high, low;
};

// The same of two f16. Contracted in two products with an f16, in three with another f16x2.
struct f16x2 {
  u16 high, low;
};

struct f16 {
  u16 bits;
};

// An element of a lower triangular matrix in two terms, whose diagonal f16 holds, as that of an inverse: a high term up
// to the diagonal, a low term behind it. The low term of row i, column j lies in row j, column i.
struct lower_f16x2 : f16 {};

struct bf16 {
  u16 bits;
};

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

// Types of elements that are the sum of two terms, and the type of a term.
template <class T>
concept TwoTerms = is_same<T, bf16x3> || is_same<T, f16x2>;
template <TwoTerms T>
struct TermElement;
template <>
struct TermElement<bf16x3> {
  using type = bf16;
};
template <>
struct TermElement<f16x2> {
  using type = f16;
};
template <TwoTerms T>
using TermOf = typename TermElement<T>::type;

// The type as which contractions read elements: a matrix of lower_f16x2 is read as one of f16x2.
template <class T>
struct Contracted {
  using type = T;
};
template <>
struct Contracted<lower_f16x2> {
  using type = f16x2;
};

// Whether contractions take an operand of A with one of B.
template <class A, class B>
inline constexpr bool are_contracted = is_same<A, B>;
template <>
inline constexpr bool are_contracted<f16, f16x2> = true;
template <>
inline constexpr bool are_contracted<f16x2, f16> = true;

// An X in expressions that are not evaluated.
template <class X>
const X& declared();

}  // namespace wkvc
