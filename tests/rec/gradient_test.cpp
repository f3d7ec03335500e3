// Gradients against central differences of the interpreter, and against a recording.
#include "codegen/rec/reference/Gradient.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "dsl/build.h"
#include "dsl/builtin.h"
#include "runtime/tensor/safetensors.h"
#include "tests/expect_error.h"
#include "tests/rec/random_array.h"

namespace wkvc::test {
namespace {

using Array = std::vector<double>;
using rec::Shape;
using rec::Tensors;

struct Problem {
  Shape shape;
  Tensors inputs;
  Array initial_state;
  Tensors output_gradients;
  Array final_gradient;
};

std::size_t size_of(mlir::Value value, std::int64_t slices) {
  return static_cast<std::size_t>(slices * llvm::cast<mlir::RankedTensorType>(value.getType()).getNumElements());
}

Problem random_problem(rec::RecurrenceOp recurrence, Shape shape) {
  const std::int64_t tokens = shape.batch * shape.tokens * shape.heads;
  unsigned seed = 0;
  Problem problem{shape, {}, {}, {}, {}};
  for (auto op : recurrence.getBody().getOps<rec::InputOp>())
    problem.inputs[op.getName().str()] = random_array(size_of(op, tokens), ++seed, 0.4);
  for (auto op : recurrence.getBody().getOps<rec::ParameterOp>())
    problem.inputs[op.getName().str()] = random_array(size_of(op, shape.heads), ++seed, 0.4);
  for (auto op : recurrence.getBody().getOps<rec::OutputOp>())
    problem.output_gradients[op.getName().str()] = random_array(size_of(op.getValue(), tokens), ++seed);
  const std::size_t states = size_of(recurrence.state().getResult(), shape.batch * shape.heads);
  problem.initial_state = random_array(states, ++seed, 0.4);
  problem.final_gradient = random_array(states, ++seed);
  return problem;
}

double dot(const Array& x, const Array& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// What is differentiated.
double loss(rec::RecurrenceOp recurrence, const Problem& problem) {
  const rec::Result result = rec::interpret(recurrence, problem.shape, problem.inputs, problem.initial_state);
  double sum = dot(result.final_state, problem.final_gradient);
  for (const auto& [name, output] : result.outputs) sum += dot(output, problem.output_gradients.at(name));
  return sum;
}

// Central differences over every element of `tensor`, which is one of `problem`.
Array differences(rec::RecurrenceOp recurrence, const Problem& problem, Array& tensor) {
  const double step = 1e-5;
  Array gradient;
  for (double& x : tensor) {
    const double middle = x;
    x = middle + step;
    const double above = loss(recurrence, problem);
    x = middle - step;
    gradient.push_back((above - loss(recurrence, problem)) / (2 * step));
    x = middle;
  }
  return gradient;
}

double error_between(const Array& x, const Array& reference) {
  if (x.size() != reference.size()) return std::numeric_limits<double>::infinity();
  double norm = 0, difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    norm += reference[i] * reference[i];
    difference += (x[i] - reference[i]) * (x[i] - reference[i]);
  }
  return std::sqrt(difference / norm);  // NaN when the reference is zero
}

rec::Gradients differentiated(rec::RecurrenceOp recurrence, const Problem& problem) {
  return rec::differentiate(recurrence, problem.shape, problem.inputs, problem.initial_state, problem.output_gradients,
                            problem.final_gradient);
}

void expect_gradients_of(rec::RecurrenceOp recurrence, Shape shape) {
  Problem problem = random_problem(recurrence, shape);
  const rec::Gradients gradients = differentiated(recurrence, problem);
  EXPECT_EQ(gradients.inputs.size(), problem.inputs.size());
  for (auto& [name, tensor] : problem.inputs) {
    EXPECT_LT(error_between(gradients.inputs.at(name), differences(recurrence, problem, tensor)), 1e-6) << name;
  }
  EXPECT_LT(error_between(gradients.initial_state, differences(recurrence, problem, problem.initial_state)), 1e-6);
}

Config small_head() {
  Config config;
  config.key_dim = 32;
  config.value_dim = 16;
  return config;
}

void expect_gradients_of(const Definition& definition) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = build(definition, context, small_head());
  expect_gradients_of(rec::recurrence_of(*module), {2, 4, 2});
}

TEST(Gradient, Rwkv7) { expect_gradients_of(rwkv7()); }
TEST(Gradient, Rwkv7LogW) { expect_gradients_of(rwkv7_logw()); }
TEST(Gradient, Rwkv6) { expect_gradients_of(rwkv6()); }

// Every operation; values that are read several times, by one operation, too; parameters and scalars.
constexpr const char* every_operation = R"(
rec.recurrence @every attributes {key_dim = 16, value_dim = 32, compute = "f16", sram_budget = 232448} {
  %x = rec.input "x" dim K : tensor<16xf32>
  %k = rec.input "k" dim K : tensor<16xbf16>
  %v = rec.input "v" dim V : tensor<32xbf16>
  %g = rec.input "g" dim 1 : tensor<1xf32>
  %p = rec.parameter "p" dim K : tensor<16xf32>
  %q = rec.parameter "q" dim 1 : tensor<1xf32>
  %S = rec.state "S" : tensor<32x16xf32>
  %k32 = rec.cast %k : tensor<16xbf16> to tensor<16xf32>
  %kx = rec.assume %k32 in [-8.0, 8.0] : tensor<16xf32>
  %one = rec.constant 1.5 dim K : tensor<16xf32>
  %soft = rec.softplus %x : tensor<16xf32>
  %root = rec.sqrt %soft : tensor<16xf32>
  %above = rec.add %root, %one : tensor<16xf32>
  %inverse = rec.reciprocal %above : tensor<16xf32>
  %log = rec.log %above : tensor<16xf32>
  %positive = rec.relu %kx : tensor<16xf32>
  %bent = rec.tanh %positive : tensor<16xf32>
  %square = rec.mul %kx, %kx : tensor<16xf32>
  %twice = rec.add %square, %square : tensor<16xf32>
  %difference = rec.sub %twice, %bent : tensor<16xf32>
  %gate = rec.sigmoid %p : tensor<16xf32>
  %down = rec.neg %gate : tensor<16xf32>
  %decay = rec.exp %down : tensor<16xf32>
  %norm = rec.dot %x, %x : tensor<16xf32>, tensor<16xf32> -> tensor<1xf32>
  %small = rec.sigmoid %norm : tensor<1xf32>
  %spread = rec.broadcast %small dim K : tensor<16xf32>
  %mixed = rec.mul %spread, %difference : tensor<16xf32>
  %scaled = rec.scale %g, %mixed : tensor<16xf32>
  %decayed = rec.diag_mul %S, %decay : tensor<32x16xf32>, tensor<16xf32>
  %read = rec.dot %S, %log : tensor<32x16xf32>, tensor<16xf32> -> tensor<32xf32>
  %erase = rec.outer %read, %inverse : tensor<32xf32>, tensor<16xf32> -> tensor<32x16xf32>
  %write = rec.outer %v, %scaled : tensor<32xbf16>, tensor<16xf32> -> tensor<32x16xf32>
  %less = rec.scale %q, %erase : tensor<32x16xf32>
  %kept = rec.sub %decayed, %less : tensor<32x16xf32>
  %next = rec.add %kept, %write : tensor<32x16xf32>
  %o = rec.dot %next, %x : tensor<32x16xf32>, tensor<16xf32> -> tensor<32xf32>
  rec.update %S, %next : tensor<32x16xf32>
  rec.output "o" %o dim V : tensor<32xf32> as bf16
  rec.output "again" %o dim V : tensor<32xf32> as f32
  rec.output "norm_of_x" %norm dim 1 : tensor<1xf32> as f32
})";

TEST(Gradient, EveryOperation) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = rec::parse(every_operation, "every.mlir", context);
  expect_gradients_of(rec::recurrence_of(*module), {2, 3, 2});
}

TEST(Gradient, SaturatedActivationsKeepTheirTails) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = rec::parse(R"(
rec.recurrence @tails attributes {key_dim = 16, value_dim = 16, compute = "f16", sram_budget = 232448} {
  %x = rec.input "x" dim K : tensor<16xf32>
  %S = rec.state "S" : tensor<16x16xf32>
  %s = rec.sigmoid %x : tensor<16xf32>
  %t = rec.tanh %x : tensor<16xf32>
  rec.update %S, %S : tensor<16x16xf32>
  rec.output "s_out" %s dim K : tensor<16xf32> as f32
  rec.output "t_out" %t dim K : tensor<16xf32> as f32
})",
                                 "tails.mlir", context);
  const auto gradient = [&](double x, double of_s, double of_t) {
    return rec::differentiate(rec::recurrence_of(*module), {}, {{"x", Array(16, x)}}, {},
                              {{"s_out", Array(16, of_s)}, {"t_out", Array(16, of_t)}})
        .inputs.at("x")[7];
  };
  EXPECT_NEAR(gradient(50, 1, 0) / std::exp(-50), 1, 1e-12);
  EXPECT_NEAR(gradient(50, 0, 1) / (4 * std::exp(-100)), 1, 1e-12);
  EXPECT_EQ(gradient(-800, 1, 1), 0);
}

Array widened(const HostTensor& tensor) {
  Array values(tensor.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.get(i);
  return values;
}

TEST(Gradient, Recording) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = build(rwkv7(), context);
  SafetensorsFile file = read_safetensors(WKVC_TEST_DATA "/rwkv7_layer1_head0.safetensors");
  Tensors inputs;
  for (const char* name : {"r", "w", "k", "v", "a", "b"}) inputs[name] = widened(file.at(name));
  const rec::Gradients gradients =
      rec::differentiate(rec::recurrence_of(*module), {1, 1000, 1}, inputs, {}, {{"o", widened(file.at("do"))}});
  for (const auto& [name, gradient] : gradients.inputs) {
    EXPECT_LT(error_between(gradient, widened(file.at("d" + name))), 1e-5) << name;
  }
}

TEST(Gradient, NoFinalGradientMeansZeros) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = build(rwkv7(), context, small_head());
  const rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  Problem problem = random_problem(recurrence, {1, 3, 2});
  problem.final_gradient.assign(problem.final_gradient.size(), 0);
  const rec::Gradients zeros = differentiated(recurrence, problem);
  problem.final_gradient.clear();
  const rec::Gradients none = differentiated(recurrence, problem);
  EXPECT_EQ(none.inputs, zeros.inputs);
  EXPECT_EQ(none.initial_state, zeros.initial_state);
}

TEST(Gradient, RefusesTensorsThatDoNotFit) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = build(rwkv6(), context, small_head());
  const rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  const Problem good = random_problem(recurrence, {1, 2, 1});
  const auto error = [&](auto change) {
    Problem bad = good;
    change(bad);
    return user_error_of([&] { differentiated(recurrence, bad); });
  };
  expect_contains(error([](Problem& bad) { bad.output_gradients.erase("o"); }),
                  "the gradient of output 'o' is missing");
  expect_contains(error([](Problem& bad) { bad.output_gradients.at("o").pop_back(); }),
                  "'the gradient of output o' has 31 elements; expected 32");
  expect_contains(error([](Problem& bad) { bad.final_gradient.pop_back(); }),
                  "'the gradient of final_state' has 511 elements; expected 512");
  expect_contains(error([](Problem& bad) { bad.initial_state.pop_back(); }),
                  "'initial_state' has 511 elements; expected 512");
  expect_contains(error([](Problem& bad) { bad.inputs.erase("u"); }), "tensor 'u' is missing");
}

}  // namespace
}  // namespace wkvc::test
