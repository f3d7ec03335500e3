// One case for every diagnostic of the language.
#include <cmath>
#include <limits>

#include "dsl/build.h"
#include "tests/expect_error.h"

using namespace wkvc;

namespace {

using test::expect_contains;
using test::user_error_of;

struct Values {
  Recurrence& op;
  Dim K, V;
  Expr k, v, h, x, y, g, S;
};

// The error of a recurrence whose body goes on with `body`, over: k (K, bf16), v (V, bf16), h (K, f16), x (K, f32),
// y (V, f32), g (scalar, f32). K and V are both 64.
std::string error_of(const std::function<void(const Values&)>& body) {
  const auto definition = recurrence("faulty", [&](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    op.compute(f16);
    body({op, K, V, op.input("k", K, bf16), op.input("v", V, bf16), op.input("h", K, f16), op.input("x", K, f32),
          op.input("y", V, f32), op.input("g", scalar, f32), op.state("S", V, K, f32)});
  });
  return user_error_of([&] { rec_text(definition); });
}

// The error of an expression, which is to name the line it stands in.
#define EXPECT_ERROR(expression, text)                                               \
  expect_contains(error_of([](const Values& at) { static_cast<void>(expression); }), \
                  std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " + (text))

TEST(Dtypes, AreNeverPromoted) {
  EXPECT_ERROR(at.k * exp(at.op.let("log_w", -at.x)),
               "'*': 'k' is bf16 but 'exp(log_w)' is f32; dtypes are never promoted: write cast<f32>(k)");
  EXPECT_ERROR(at.x + at.k, "'+': 'x' is f32 but 'k' is bf16; dtypes are never promoted: write cast<f32>(k)");
  EXPECT_ERROR(at.k - at.h,
               "'-': 'k' is bf16 but 'h' is f16; dtypes are never promoted: write cast<f32>(k) and "
               "cast<f32>(h)");
  EXPECT_ERROR(at.k * 0.5f, "'*': 'k' is bf16 but '0.5f' is f32; dtypes are never promoted: write cast<f32>(k)");
  EXPECT_ERROR(at.g * at.k, "'*': 'g' is f32 but 'k' is bf16");
}

TEST(Dtypes, ArithmeticIsInF32) {
  EXPECT_ERROR(at.k * at.k,
               "'*': 'k' is bf16, but arithmetic is in f32; dtypes are never promoted: write cast<f32>(k)");
  EXPECT_ERROR(-at.h, "'-': 'h' is f16, but arithmetic is in f32");
  EXPECT_ERROR(sigmoid(at.k), "'sigmoid': 'k' is bf16, but arithmetic is in f32");
  EXPECT_ERROR(at.S * diag(at.k), "'diag': 'k' is bf16, but arithmetic is in f32");
  EXPECT_ERROR((at.op.output("p", at.k, f32)), "output 'p' is f32 but 'k' is bf16");
}

TEST(Dtypes, CastsDoSomething) {
  EXPECT_ERROR(cast<f32>(at.x), "'cast': 'x' is already f32: drop the cast");
  EXPECT_ERROR(cast<bf16>(at.S), "'cast': 'S' is a V×K matrix, which is always f32");
}

TEST(Axes, StayApart) {
  EXPECT_ERROR(at.x + at.y,
               "'+': 'x' is a vector over keys (K) but 'y' is a vector over values (V); K and V stay apart "
               "even where they are equal");
  EXPECT_ERROR(at.x * at.y, "'*': 'x' is a vector over keys (K) but 'y' is a vector over values (V)");
  EXPECT_ERROR(dot(at.k, at.v), "'dot': 'k' is a vector over keys (K) but 'v' is a vector over values (V)");
  EXPECT_ERROR(dot(at.S, at.v), "'dot': 'v' is a vector over values (V); expected a vector over keys (K)");
  EXPECT_ERROR(outer(at.k, at.v), "'outer': 'k' is a vector over keys (K); expected a vector over values (V)");
  EXPECT_ERROR(outer(at.v, at.v), "'outer': 'v' is a vector over values (V); expected a vector over keys (K)");
  EXPECT_ERROR(at.S * diag(at.y), "'diag': 'y' is a vector over values (V); expected a vector over keys (K)");
}

TEST(Matrices, HaveTheirOperators) {
  EXPECT_ERROR(at.S * at.x,
               "'*': 'S' is a V×K matrix and 'x' a vector over keys (K); a matrix is multiplied as "
               "S * diag(d), by a scalar, or in dot(S, k)");
  EXPECT_ERROR(at.S * at.S, "'*': 'S' is a V×K matrix and 'S' a V×K matrix");
  EXPECT_ERROR(at.S + at.x, "'+': 'S' is a V×K matrix but 'x' is a vector over keys (K)");
  EXPECT_ERROR(at.S + 1.0f, "'+': 'S' is a V×K matrix but '1f' is a scalar");
  EXPECT_ERROR(exp(at.S), "'exp': 'S' is a V×K matrix; expected a vector or a scalar");
  EXPECT_ERROR(at.x * diag(at.x), "'*': only a matrix is multiplied by 'diag(x)'");
  EXPECT_ERROR(2.0f * diag(at.x), "'*': only a matrix is multiplied by 'diag(x)'");
  EXPECT_ERROR(dot(at.S, at.S), "'dot': 'S' is a V×K matrix; expected a vector over keys (K)");
  EXPECT_ERROR(at.S.in(0, 1), "'in': 'S' is a V×K matrix");
  EXPECT_ERROR(at.op.output("p", at.S, f32), "output 'p': 'S' is a V×K matrix");
}

TEST(Ranges, AreFiniteAndOrdered) {
  EXPECT_ERROR(at.x.in(1, 0), "the range [1, 0] is empty: lo must not exceed hi");
  EXPECT_ERROR(at.x.in(0, HUGE_VAL), "the range [0, inf] is not finite");
  EXPECT_ERROR(at.x.in(NAN, 0), "the range [nan, 0] is not finite");
  EXPECT_ERROR(exp(at.x).in(1, 0), "the range [1, 0] is empty");
  EXPECT_ERROR(cast<bf16>(at.x).in(0, 1), "'in': 'cast<bf16>(x)' is bf16");
}

TEST(Constants, AreFinite) {
  EXPECT_ERROR(at.x * std::numeric_limits<float>::infinity(), "the constant inf is not finite");
}

TEST(Names, AreUsableIdentifiers) {
  EXPECT_ERROR(at.op.input("float", at.K, f32), "name 'float' is a C++ keyword");
  EXPECT_ERROR(at.op.input("){", at.K, f32), "name '){' is not an identifier");
  EXPECT_ERROR(at.op.input("a\nb", at.K, f32), "name 'a\\x0ab' is not an identifier");
  EXPECT_ERROR(at.op.output("*/", at.x, f32), "name '*/' is not an identifier");
  EXPECT_ERROR(at.op.parameter("threadIdx", at.K, f32), "name 'threadIdx' is used by emitted kernels");
  EXPECT_ERROR(at.op.let("_x", -at.x), "name '_x' is reserved in C++");
  EXPECT_ERROR((at.op.inputs(at.K, f32, "fine", "")), "name '' is not an identifier");
}

TEST(Names, AreUnique) {
  EXPECT_ERROR(at.op.input("k", at.K, bf16), "name 'k' is taken (line ");
  EXPECT_ERROR(at.op.output("S", at.x, f32), "name 'S' is taken");
  EXPECT_ERROR(at.op.let("z", at.x), "'let': 'x' has its name already");
}

TEST(State, IsOneF32Matrix) {
  EXPECT_ERROR(at.op.state("Z", at.V, at.K, f32), "'Z' is the second state; expected exactly one");
  EXPECT_ERROR(at.op.update(at.x, at.S), "'update': 'x' is not the state");
  EXPECT_ERROR(at.op.update(at.S, at.x), "'update': 'x' is not a V×K matrix");
  EXPECT_ERROR((at.op.update(at.S, at.S), at.op.update(at.S, at.S)), "'update' is called twice");
}

TEST(Settings, AreGivenOnceAndInRange) {
  EXPECT_ERROR(at.op.key_dim(64), "'key_dim' is declared twice");
  EXPECT_ERROR(at.op.compute(bf16), "'compute' is called twice");
  EXPECT_ERROR((at.op.sram_budget(1), at.op.sram_budget(1)), "'sram_budget' is called twice");
  EXPECT_ERROR(at.op.sram_budget(0), "sram_budget is 0 bytes; expected 1 to 232448 (227 KiB");
  EXPECT_ERROR(at.op.sram_budget(-1_KiB), "sram_budget is -1024 bytes");
  EXPECT_ERROR(at.op.sram_budget(228_KiB), "sram_budget is 233472 bytes");
  EXPECT_ERROR(dot(at.S, at.k, Compute("f8")), "compute is 'f8'; expected bf16, bf16x3, f16 or f32");
}

TEST(Texts, OfLongOperandsAreAbridged) {
  const std::string error = error_of([](const Values& at) {
    Expr sum = at.x;
    for (int i = 0; i < 100; ++i) sum = sum + sum;
    sum* at.k;
  });
  expect_contains(error, "x + x + ");
  expect_contains(error, "...' is f32 but 'k' is bf16");
  EXPECT_LT(error.size(), 400U);
}

std::string error_of_body(std::function<void(Recurrence&)> body, std::string name = "faulty") {
  return user_error_of([&] { rec_text(recurrence(std::move(name), std::move(body))); });
}

TEST(Bodies, AreComplete) {
  expect_contains(error_of_body({}), "recurrence 'faulty' has no body");
  expect_contains(error_of_body([](Recurrence&) {}),
                  "recurrence 'faulty' lacks its key dimension: write op.key_dim(64)");
  expect_contains(error_of_body([](Recurrence& op) { op.key_dim(64); }), "lacks its value dimension");
  const auto dims = [](Recurrence& op) { return std::pair(op.key_dim(64), op.value_dim(64)); };
  expect_contains(error_of_body([&](Recurrence& op) { dims(op); }), "lacks inputs");
  expect_contains(error_of_body([&](Recurrence& op) { op.input("k", dims(op).first, f32); }), "write op.compute(f16)");
  expect_contains(error_of([](const Values&) {}), "lacks an update: write op.update(S, next)");
  expect_contains(error_of([](const Values& at) { at.op.update(at.S, at.S); }), "lacks outputs");
  expect_contains(error_of_body([&](Recurrence& op) {
                    op.input("k", dims(op).first, f32);
                    op.compute(f16);
                  }),
                  "lacks a state");
}

TEST(Bodies, NameAComputeDtype) {
  expect_contains(error_of_body([](Recurrence& op) { op.compute(Compute("f8")); }),
                  "compute is 'f8'; expected bf16, bf16x3, f16 or f32");
}

TEST(Bodies, DeclareSupportedHeads) {
  expect_contains(error_of_body([](Recurrence& op) { op.key_dim(40); }), "key_dim is 40; expected a multiple of 16");
  expect_contains(error_of_body([](Recurrence& op) { op.key_dim(0); }), "key_dim is 0; expected");
  expect_contains(error_of_body([](Recurrence& op) { op.value_dim(528); }), "value_dim is 528; expected");
}

TEST(Bodies, DeclareStatesOfTheRightShape) {
  const auto state = [](bool transposed, DType dtype) {
    return error_of_body([=](Recurrence& op) {
      Dim K = op.key_dim(64), V = op.value_dim(64);
      op.state("S", transposed ? K : V, transposed ? V : K, dtype);
    });
  };
  expect_contains(state(true, f32), "state 'S': expected V rows and K columns");
  expect_contains(state(false, bf16), "state 'S' is bf16; expected f32");
}

TEST(Bodies, UseTheirOwnValues) {
  std::optional<Expr> foreign;
  error_of([&](const Values& at) { foreign = at.x; });
  expect_contains(error_of([&](const Values& at) {
                    at.op.update(at.S, at.S);
                    at.op.output("o", *foreign + at.x, f32);
                  }),
                  "'x' belongs to another recurrence");
}

TEST(Definitions, HaveUsableNames) {
  expect_contains(error_of_body([](Recurrence&) {}, "while"), "name 'while' is a C++ keyword");
  expect_contains(error_of_body([](Recurrence&) {}, "a){"), "is not an identifier");
}

}  // namespace
