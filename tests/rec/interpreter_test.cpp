// The interpreter against the recurrences written out by hand.
#include "codegen/rec/reference/Interpreter.h"

#include <chrono>
#include <cmath>

#include "codegen/rec/reference/Rounding.h"
#include "dsl/build.h"
#include "dsl/builtin.h"
#include "tests/expect_error.h"
#include "tests/rec/random_array.h"
#include "tests/rec/rec_text.h"

namespace wkvc::test {
namespace {

using Array = std::vector<double>;
using rec::Shape;
using rec::Tensors;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One head of one sequence: pointers to token t's vectors.
struct Head {
  const Tensors& x;
  Shape shape;
  int K, V;
  std::int64_t b, h;
  const double* operator()(const char* name, std::int64_t t, int D) const {
    return x.at(name).data() + ((b * shape.tokens + t) * shape.heads + h) * D;
  }
};

// S_t = S_{t-1} (diag(w) + a bᵀ) + v kᵀ, o = S_t r, with w = exp(-exp(-1/2) sigmoid(w_raw))
void step_rwkv7(const Head& at, std::int64_t t, double* S, double* o) {
  const double *r = at("r", t, at.K), *w = at("w", t, at.K), *k = at("k", t, at.K), *v = at("v", t, at.V);
  const double *a = at("a", t, at.K), *b = at("b", t, at.K);
  const double c = -static_cast<double>(std::exp(-0.5F));
  for (int i = 0; i < at.V; ++i) {
    double* row = S + i * at.K;
    double sa = 0;
    for (int j = 0; j < at.K; ++j) sa += row[j] * a[j];
    for (int j = 0; j < at.K; ++j) row[j] = row[j] * std::exp(c * sigmoid(w[j])) + sa * b[j] + v[i] * k[j];
    o[i] = 0;
    for (int j = 0; j < at.K; ++j) o[i] += row[j] * r[j];
  }
}

// o = (S_{t-1} + v (u∘k)ᵀ) r, S_t = S_{t-1} diag(w) + v kᵀ, with w = exp(-exp(w_raw))
void step_rwkv6(const Head& at, std::int64_t t, double* S, double* o) {
  const double *r = at("r", t, at.K), *w = at("w", t, at.K), *k = at("k", t, at.K), *v = at("v", t, at.V);
  const double* u = at.x.at("u").data() + at.h * at.K;
  for (int i = 0; i < at.V; ++i) {
    double* row = S + i * at.K;
    o[i] = 0;
    for (int j = 0; j < at.K; ++j) o[i] += (row[j] + u[j] * k[j] * v[i]) * r[j];
    for (int j = 0; j < at.K; ++j) row[j] = row[j] * std::exp(-std::exp(w[j])) + v[i] * k[j];
  }
}

rec::Result by_hand(void (*step)(const Head&, std::int64_t, double*, double*), Shape shape, int K, int V,
                    const Tensors& x, const Array& initial_state) {
  rec::Result result{{{"o", Array(static_cast<std::size_t>(shape.batch * shape.tokens * shape.heads * V))}},
                     initial_state};
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t h = 0; h < shape.heads; ++h)
      for (std::int64_t t = 0; t < shape.tokens; ++t)
        step({x, shape, K, V, b, h}, t, result.final_state.data() + (b * shape.heads + h) * V * K,
             result.outputs["o"].data() + ((b * shape.tokens + t) * shape.heads + h) * V);
  return result;
}

void expect_near(const Array& x, const Array& y) {
  ASSERT_EQ(x.size(), y.size());
  double norm = 0, difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    norm += y[i] * y[i];
    difference += (x[i] - y[i]) * (x[i] - y[i]);
  }
  ASSERT_GT(norm, 0);
  EXPECT_LT(std::sqrt(difference / norm), 1e-13);  // false for NaN, too
}

Tensors random_inputs(Shape shape, int K, int V) {
  const auto tokens = static_cast<std::size_t>(shape.batch * shape.tokens * shape.heads);
  const auto keys = tokens * static_cast<std::size_t>(K);
  Tensors x;
  unsigned seed = 0;
  for (const char* name : {"r", "w", "k"}) x[name] = random_array(keys, ++seed);
  x["v"] = random_array(tokens * static_cast<std::size_t>(V), ++seed);
  for (const char* name : {"a", "b"}) x[name] = random_array(keys, ++seed, 0.1);
  x["u"] = random_array(static_cast<std::size_t>(shape.heads * K), ++seed);
  return x;
}

rec::Result interpreted(const Definition& definition, const Config& config, Shape shape, const Tensors& x,
                        const Array& initial_state) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = build(definition, context, config);
  return rec::interpret(rec::recurrence_of(*module), shape, x, initial_state);
}

void compare(const Definition& definition, void (*step)(const Head&, std::int64_t, double*, double*)) {
  const Shape shape{2, 19, 3};
  const int K = 32, V = 48;
  Config config;
  config.key_dim = K;
  config.value_dim = V;
  const Tensors x = random_inputs(shape, K, V);
  for (const Array& initial : {random_array(6 * K * V, 99), Array(6 * K * V)}) {
    const rec::Result expected = by_hand(step, shape, K, V, x, initial);
    const rec::Result actual = interpreted(definition, config, shape, x, initial);
    expect_near(actual.outputs.at("o"), expected.outputs.at("o"));
    expect_near(actual.final_state, expected.final_state);
  }
}

TEST(Interpreter, Rwkv7) { compare(rwkv7(), step_rwkv7); }
TEST(Interpreter, Rwkv6) { compare(rwkv6(), step_rwkv6); }

TEST(Interpreter, NoInitialStateMeansZeros) {
  const Shape shape{1, 5, 2};
  const Tensors x = random_inputs(shape, 64, 64);
  const rec::Result none = interpreted(rwkv7(), {}, shape, x, {});
  const rec::Result zeros = interpreted(rwkv7(), {}, shape, x, Array(2 * 64 * 64));
  EXPECT_EQ(none.outputs.at("o"), zeros.outputs.at("o"));
  EXPECT_EQ(none.final_state, zeros.final_state);
}

TEST(Interpreter, TwoHalvesAreTheWhole) {
  const Tensors x = random_inputs({1, 8, 1}, 64, 64);
  Tensors first, second;
  for (const auto& [name, array] : x) {
    const auto middle = array.begin() + static_cast<std::ptrdiff_t>(array.size() / 2);
    first[name] = Array(array.begin(), middle);
    second[name] = Array(middle, array.end());
  }
  const rec::Result whole = interpreted(rwkv7(), {}, {1, 8, 1}, x, {});
  const rec::Result half = interpreted(rwkv7(), {}, {1, 4, 1}, first, {});
  EXPECT_EQ(interpreted(rwkv7(), {}, {1, 4, 1}, second, half.final_state).final_state, whole.final_state);
}

TEST(Interpreter, EveryElementwiseOperation) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string lines;
  const std::string vector = " : tensor<64xf32>\n";
  const auto output = [&](const std::string& name, const std::string& op) {
    lines += "  %" + name + "_ = rec." + op + vector + "  rec.output \"" + name + "\" %" + name +
             "_ dim K : " + "tensor<64xf32> as f32\n";
  };
  for (const char* op : {"neg", "exp", "log", "sigmoid", "tanh", "softplus", "relu", "sqrt", "reciprocal"})
    output(std::string("out_") + op, std::string(op) + " %x");
  for (const char* op : {"add", "sub", "mul"}) output(std::string("out_") + op, std::string(op) + " %x, %x2");
  output("out_scale", "scale %g, %x");
  output("out_broadcast", "broadcast %g dim K");
  output("out_constant", "constant 2.5 dim K");
  output("out_assume", "assume %x in [0.0, 1.0]");
  auto module = rec::parse(with("  %x2 = rec.input \"x2\" dim K : tensor<64xf32>\n" + lines), "test.mlir", context);

  const double x = 0.75, x2 = -3, g = 7;
  const rec::Result result = rec::interpret(
      rec::recurrence_of(*module), {},
      {{"k", Array(64)}, {"v", Array(32)}, {"x", Array(64, x)}, {"y", Array(32)}, {"g", {g}}, {"x2", Array(64, x2)}});
  const std::map<std::string, double> expected = {{"neg", -x},
                                                  {"exp", std::exp(x)},
                                                  {"log", std::log(x)},
                                                  {"sigmoid", sigmoid(x)},
                                                  {"tanh", std::tanh(x)},
                                                  {"softplus", std::log(1 + std::exp(x))},
                                                  {"relu", x},
                                                  {"sqrt", std::sqrt(x)},
                                                  {"reciprocal", 1 / x},
                                                  {"add", x + x2},
                                                  {"sub", x - x2},
                                                  {"mul", x * x2},
                                                  {"scale", g * x},
                                                  {"broadcast", g},
                                                  {"constant", 2.5},
                                                  {"assume", x}};
  for (const auto& [name, value] : expected) EXPECT_NEAR(result.outputs.at("out_" + name)[63], value, 1e-15) << name;
}

TEST(Interpreter, NoTokensKeepTheState) {
  const Array initial = random_array(std::size_t{2} * 64 * 64, 1);
  const rec::Result result = interpreted(rwkv7(), {}, {1, 0, 2}, random_inputs({1, 0, 2}, 64, 64), initial);
  EXPECT_TRUE(result.outputs.at("o").empty());
  EXPECT_EQ(result.final_state, initial);
}

// Operands of so many significant bits cost about half a unit in the last place; the seed decides which errors.
TEST(Interpreter, RoundsOperandsAtRandom) {
  const Shape shape{1, 50, 1};
  const Tensors x = random_inputs(shape, 64, 64);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = build(rwkv7(), context);
  const auto outputs = [&](rec::Rounding* rounding) {
    return rec::interpret(rec::recurrence_of(*module), shape, x, {}, rounding).outputs.at("o");
  };
  const Array exact = outputs(nullptr);
  for (const int bits : {8, 11, 24}) {
    rec::Rounding rounding(bits, 1), same(bits, 1), other(bits, 2);
    const Array rounded = outputs(&rounding);
    EXPECT_EQ(rounded, outputs(&same));
    EXPECT_NE(rounded, outputs(&other));
    double norm = 0, difference = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      norm += exact[i] * exact[i];
      difference += (rounded[i] - exact[i]) * (rounded[i] - exact[i]);
    }
    EXPECT_GT(std::sqrt(difference / norm), std::ldexp(0.3, -bits));
    EXPECT_LT(std::sqrt(difference / norm), std::ldexp(3.0, -bits));
  }
}

TEST(Interpreter, RefusesTensorsThatDoNotFit) {
  const Shape shape{1, 2, 1};
  Tensors x = random_inputs(shape, 64, 64);
  const auto error = [&](Shape s, const Array& initial) {
    return user_error_of([&] { interpreted(rwkv7(), {}, s, x, initial); });
  };
  expect_contains(error(shape, Array(7)), "'initial_state' has 7 elements; expected 4096");
  expect_contains(error({1, -1, 1}, {}), "1,-1,1; no size may be negative");
  x["k"].pop_back();
  expect_contains(error(shape, {}), "'k' has 127 elements; expected 128");
  x.erase("k");
  expect_contains(error(shape, {}), "tensor 'k' is missing");
}

TEST(Interpreter, TakesAboutASecondForATrainingSequence) {
  const Shape shape{1, 1000, 3};
  const Tensors x = random_inputs(shape, 64, 64);
  const auto start = std::chrono::steady_clock::now();
  interpreted(rwkv7(), {}, shape, x, {});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_LT(seconds, 30);  // far above, so that sanitizers and busy machines pass
}

}  // namespace
}  // namespace wkvc::test
