// The language of recurrences: what one token does to one head's state, in C++ expressions.
//
//   auto decay = recurrence("decay", [](Recurrence& op) {
//     Dim K = op.key_dim(64), V = op.value_dim(64);
//     auto [r, k, w] = op.inputs(K, bf16, "r", "k", "w");
//     auto v = op.input("v", V, bf16);
//     op.compute(f16);
//     auto S = op.state("S", V, K, f32);
//     auto next = S * diag(sigmoid(cast<f32>(w))) + outer(v, k);
//     op.update(S, next);
//     op.output("o", dot(next, r), bf16);
//   });
//
// Dtypes are never promoted: arithmetic takes f32 only and cast<f32>(x) is the only way there; contractions (dot,
// outer) take any dtype, round their operands to the compute dtype and give f32. Mistakes throw UserError with the
// line of the expression.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>

#include "codegen/compiler.h"
#include "runtime/tensor/dtype.h"

namespace wkvc {

using At = std::source_location;

inline constexpr DType f32 = DType::f32;
inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;

// The dtype that a contraction's operands are rounded to.
struct Compute {
  std::string_view name;
  constexpr explicit Compute(std::string_view text) : name(text) {}
  constexpr Compute(DType dtype) : name(dtype == f32 ? "f32" : dtype == f16 ? "f16" : "bf16") {}
};

// The axis of a vector, and its extent.
struct Dim {
  enum class Axis { K, V, one };
  Axis axis;
  int extent;
};
inline constexpr Dim scalar{Dim::Axis::one, 1};

// A value together with the line it was given at.
template <class T>
struct Located {
  T value;
  At at;
  Located(T v, At where = At::current()) : value(v), at(where) {}
};

namespace detail {
struct Node;
struct Declarations;
}  // namespace detail

// How random data is distributed, in the order of rec::distribution_names: normal; normal, and each vector divided by
// its norm; uniform in the declared range, or in [0, 1] without one.
enum class Drawn { normal, normalised, uniform };

// A vector, scalar or matrix of one token. Copies are the same value, and moves are copies: no expression is empty.
class Expr {
 public:
  explicit Expr(std::shared_ptr<detail::Node> node) : node_(std::move(node)) {}
  Expr(const Expr&) = default;
  Expr& operator=(const Expr&) = default;
  ~Expr() = default;

  // Declares that every element lies in [lo, hi].
  Expr in(double lo, double hi, At at = At::current()) const;
  // Declares how check, bench and tune draw an input or parameter, where the use says too little of that.
  Expr drawn(Drawn how, At at = At::current()) const;

  const std::shared_ptr<detail::Node>& node() const { return node_; }

 private:
  std::shared_ptr<detail::Node> node_;
};

// One side of an operator: an expression or a float. Any other number does not compile: constants are f32, write 0.5f.
class Operand {
 public:
  Operand(const Expr& expr, At at = At::current()) : expr_(expr), at_(at) {}
  template <std::same_as<float> T>
  Operand(T constant, At at = At::current()) : constant_(constant), at_(at) {}
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, float>)
  Operand(T constants_are_floats_write_0_5f, At at = At::current()) = delete;

  const std::optional<Expr>& expr() const { return expr_; }
  float constant() const { return constant_; }
  At at() const { return at_; }

 private:
  std::optional<Expr> expr_;
  float constant_ = 0;
  At at_;
};

// Element by element; a scalar goes with anything, and a matrix is added or scaled.
Expr operator+(Operand lhs, Operand rhs);
Expr operator-(Operand lhs, Operand rhs);
Expr operator*(Operand lhs, Operand rhs);
Expr operator-(Operand x);

// S * diag(d) multiplies column k of a matrix by d[k].
struct Diagonal {
  Expr vector;
};
Diagonal diag(const Expr& vector);
Expr operator*(Operand matrix, const Diagonal& diagonal);

Expr exp(const Expr& x, At at = At::current());
Expr log(const Expr& x, At at = At::current());
Expr sigmoid(const Expr& x, At at = At::current());
Expr tanh(const Expr& x, At at = At::current());
Expr softplus(const Expr& x, At at = At::current());
Expr relu(const Expr& x, At at = At::current());
Expr sqrt(const Expr& x, At at = At::current());
Expr reciprocal(const Expr& x, At at = At::current());

Expr cast(DType dtype, const Expr& x, At at = At::current());
template <DType dtype>
Expr cast(const Expr& x, At at = At::current()) {
  return cast(dtype, x, at);
}

// Contractions: matrix · K vector is a V vector, vector · vector a scalar; outer(V vector, K vector) is a matrix.
// `compute` pins the operands of this one.
Expr dot(const Expr& lhs, const Expr& rhs, std::optional<Compute> compute = {}, At at = At::current());
Expr outer(const Expr& column, const Expr& row, std::optional<Compute> compute = {}, At at = At::current());

// The numbers that an option takes; any finite one unless told.
struct Range {
  double least = -std::numeric_limits<double>::max(), most = std::numeric_limits<double>::max();
};

// What a recurrence declares; its body calls each of key_dim, value_dim, compute, state and update once.
class Recurrence {
 public:
  explicit Recurrence(detail::Declarations& declarations) : declarations_(declarations) {}

  Dim key_dim(int extent, At at = At::current());
  Dim value_dim(int extent, At at = At::current());

  // Per token: [B,T,H,D], or [B,T,H] for `scalar`.
  Expr input(std::string_view name, Dim dim, DType dtype, At at = At::current());
  template <std::convertible_to<std::string_view>... Names>
  std::array<Expr, sizeof...(Names)> inputs(Located<Dim> dim, DType dtype, Names... names) {
    return {input(names, dim.value, dtype, dim.at)...};
  }
  // Per head: [H,D], or [H] for `scalar`.
  Expr parameter(std::string_view name, Dim dim, DType dtype, At at = At::current());

  // V rows, K columns. In expressions it is the state before this token.
  Expr state(std::string_view name, Dim rows, Dim columns, DType dtype, At at = At::current());
  void update(const Expr& state, const Expr& next, At at = At::current());

  // Gives a value the name it has in every later text.
  Expr let(std::string_view name, const Expr& value, At at = At::current());

  void output(std::string_view name, const Expr& value, DType dtype, At at = At::current());

  void compute(Compute dtype, At at = At::current());
  void sram_budget(std::int64_t bytes, At at = At::current());  // 227 KiB unless told

  // Options: each function declares one and returns the value that holds, which --set NAME=VALUE gives, or what the
  // body names. A body declares all of its options, whatever the values are, and builds its expressions accordingly.
  // Throws UserError for a value that the option does not take, and for an option that is set and not declared.
  //
  // One of several words, the first where nothing is set; true or false, false where nothing is set.
  std::string choice(std::string_view name, std::initializer_list<std::string_view> words, std::string_view meaning,
                     At at = At::current());
  bool flag(std::string_view name, std::string_view meaning, At at = At::current());
  double number(std::string_view name, double otherwise, Range range, std::string_view meaning, At at = At::current());
  // Throws UserError where the option is set and `holds` is false: needs("lower_bound", decay == "log", "decay=log").
  void needs(std::string_view option, bool holds, std::string_view needed);

 private:
  detail::Declarations& declarations_;
};

// Values of options by name, as they were given.
using OptionValues = std::map<std::string, std::string, std::less<>>;

struct Definition {
  std::string name;
  std::function<void(Recurrence&)> body;
  At at;
  OptionValues presets = {};  // of options; what is set goes before them
};

// The body runs when the definition is built; that is when its mistakes are reported.
Definition recurrence(std::string name, std::function<void(Recurrence&)> body, At at = At::current());

// The same recurrence under another name, with other values where options are not set.
Definition preset(Definition of, std::string name, OptionValues options);

// The rec dialect's text, under a configuration, and the lines of C++ that it was written in. (dsl/build.h gives the
// module itself.)
Source rec_source(const Definition& definition, const Config& config = {});
// The text alone.
std::string rec_text(const Definition& definition, const Config& config = {});

inline namespace literals {
constexpr std::int64_t operator""_KiB(unsigned long long n) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return n > static_cast<unsigned long long>(most / 1024) ? most : static_cast<std::int64_t>(n) * 1024;
}
}  // namespace literals

}  // namespace wkvc
