#include "tests/lower/compare.h"

#include <cmath>
#include <limits>
#include <random>

#include "codegen/chunk/Interpreter.h"
#include "codegen/ir/Text.h"
#include "codegen/rec/Rec.h"
#include "codegen/rec/reference/Gradient.h"

namespace wkvc::test {
namespace {

std::vector<double> normal(std::size_t count, double deviation, std::mt19937_64& random) {
  std::normal_distribution<double> distribution(0, deviation);
  std::vector<double> x(count);
  for (double& value : x) value = distribution(random);
  return x;
}

std::vector<double> choices(std::size_t count, const std::vector<double>& among, std::mt19937_64& random) {
  std::uniform_int_distribution<std::size_t> distribution(0, among.size() - 1);
  std::vector<double> x(count);
  for (double& value : x) value = among[distribution(random)];
  return x;
}

// What `recurrence` computes its decay from: a log decay itself, the argument of −exp(w), or a decay.
std::vector<double> decays(std::vector<double> logs, llvm::StringRef recurrence, llvm::StringRef name) {
  for (double& x : logs) {
    if (recurrence == "rwkv6") x = std::log(-x);
    if (name == "decay") x = std::exp(x);
  }
  return logs;
}

std::vector<double> draw(llvm::StringRef recurrence, llvm::StringRef name, std::size_t count,
                         const std::vector<double>& log_decays, std::mt19937_64& random) {
  const bool raw = recurrence == "rwkv7";
  if (name == "log_w" || name == "decay" || (name == "w" && !raw))
    return decays(choices(count, log_decays, random), recurrence, name);
  const bool key = name == "a" || name == "b" || name == "c" || name == "d" || name == "k";
  return normal(count, key ? 0.1 : 1, random);
}

}  // namespace

Problem random_problem(const std::string& rec_text, rec::Shape shape, const std::vector<double>& log_decays) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = rec::parse(rec_text, "test", context);
  auto recurrence = rec::recurrence_of(*module);
  std::mt19937_64 random(static_cast<std::uint64_t>(shape.tokens));
  Problem problem{shape, {}, {}};
  auto add = [&](auto op, std::int64_t count) {
    const auto size = static_cast<std::size_t>(count * recurrence.extent(op.getDim()));
    problem.inputs[op.getName().str()] = draw(recurrence.getSymName(), op.getName(), size, log_decays, random);
  };
  for (auto op : recurrence.getBody().getOps<rec::InputOp>()) add(op, shape.batch * shape.tokens * shape.heads);
  for (auto op : recurrence.getBody().getOps<rec::ParameterOp>()) add(op, shape.heads);
  const auto state = shape.batch * shape.heads * recurrence.getKeyDim() * recurrence.getValueDim();
  problem.initial_state = normal(static_cast<std::size_t>(state), 1, random);
  return problem;
}

rec::Result run_rec(const std::string& rec_text, const Problem& problem) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = rec::parse(rec_text, "test", context);
  return rec::interpret(rec::recurrence_of(*module), problem.shape, problem.inputs, problem.initial_state);
}

rec::Result run_chunk(const std::string& chunk_text, const Problem& problem) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<chunk::ChunkDialect>();
  auto module = parse(chunk_text, context);
  auto program = llvm::cast<chunk::ProgramOp>(module->getBody()->front());
  return chunk::interpret(program, problem.shape, problem.inputs, problem.initial_state);
}

Incoming random_incoming(const rec::Result& forward) {
  std::mt19937_64 random(1);
  Incoming incoming{{}, normal(forward.final_state.size(), 1, random)};
  for (const auto& [name, tensor] : forward.outputs) incoming.outputs[name] = normal(tensor.size(), 1, random);
  return incoming;
}

rec::Result run_rec_gradient(const std::string& rec_text, const Problem& problem, const Incoming& incoming) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = rec::parse(rec_text, "test", context);
  auto gradients = rec::differentiate(rec::recurrence_of(*module), problem.shape, problem.inputs, problem.initial_state,
                                      incoming.outputs, incoming.final_state);
  rec::Result result{{}, gradients.initial_state};
  for (auto& [name, tensor] : gradients.inputs) result.outputs["d" + name] = tensor;
  return result;
}

rec::Result run_chunk_gradient(const std::string& both, const Problem& problem, const Incoming& incoming) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<chunk::ChunkDialect>();
  auto module = parse(both, context);
  auto forward = llvm::cast<chunk::ProgramOp>(module->getBody()->front());
  auto backward = forward;
  for (auto program : module->getBody()->getOps<chunk::ProgramOp>())
    if (program.getPlain().has_value() == forward.getPlain().has_value()) backward = program;
  std::vector<double> saved;
  // What the forward program keeps is among its outputs.
  rec::Tensors inputs = chunk::interpret(forward, problem.shape, problem.inputs, problem.initial_state, &saved).outputs;
  inputs.insert(problem.inputs.begin(), problem.inputs.end());
  for (const auto& [name, tensor] : incoming.outputs) inputs["d" + name] = tensor;
  return chunk::interpret(backward, problem.shape, inputs, incoming.final_state, &saved);
}

namespace {

double relative_error(const std::vector<double>& x, const std::vector<double>& reference) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (!std::isfinite(x.at(i)) || !std::isfinite(reference[i])) return std::numeric_limits<double>::infinity();
    difference += (x[i] - reference[i]) * (x[i] - reference[i]);
    norm += reference[i] * reference[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

}  // namespace

double error_between(const rec::Result& result, const rec::Result& reference) {
  double error = relative_error(result.final_state, reference.final_state);
  for (const auto& [name, tensor] : reference.outputs)
    error = std::max(error, relative_error(result.outputs.at(name), tensor));
  return error;
}

}  // namespace wkvc::test
