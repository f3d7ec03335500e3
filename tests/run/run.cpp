#include "tests/run/run.h"

#include <mlir/IR/MLIRContext.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "checking/values/arrangement.h"
#include "checking/values/cases.h"
#include "codegen/rec/reference/Gradient.h"
#include "runtime/cuda/device_tensor.h"

namespace wkvc::test {

std::string cuda_text(const Definition& definition, const Config& config) {
  return lower_to(source_from(rec_text(definition, config)), Stage::cuda, config);
}

std::string why_not(Target target) {
  std::string why;
  return target == Target::host || cuda_available(&why) ? "" : "no GPU: " + why;
}

//===- Values ----------------------------------------------------------------------------------------------------===//

namespace {

bool is_given(Role role) { return !is_result(role) && !is_internal(role); }

std::vector<double> normal(std::size_t count, std::mt19937_64& random) {
  std::normal_distribution<double> distribution;
  std::vector<double> x(count);
  for (double& value : x) value = distribution(random);
  return x;
}

void normalise_rows(std::vector<double>& x, std::size_t row) {
  for (std::size_t i = 0; i < x.size(); i += row) {
    double sum = 0;
    for (std::size_t j = 0; j < row; ++j) sum += x[i + j] * x[i + j];
    for (std::size_t j = 0; j < row; ++j) x[i + j] /= std::sqrt(sum);
  }
}

void pair_deltas(Problem& problem, std::size_t row, std::mt19937_64& random) {
  std::uniform_real_distribution<double> beta(0, 1);
  const auto& a = problem.values["a"];
  auto& b = problem.values["b"];
  double scale = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i % row == 0) scale = beta(random);
    b[i] = -a[i] * scale;
  }
}

}  // namespace

Problem random_problem(const Manifest& manifest, LaunchSize size, unsigned seed) {
  std::mt19937_64 random(seed);
  Problem problem{size, {}, Storage::tokens_first, {}};
  const auto row = static_cast<std::size_t>(manifest.key_dim);
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_given(spec.role)) continue;
    auto x = normal(static_cast<std::size_t>(element_count(shape_of(spec, manifest, size))), random);
    if (spec.name == "a") normalise_rows(x, row);
    problem.values[spec.name] = std::move(x);
  }
  if (problem.values.contains("a") && problem.values.contains("b")) pair_deltas(problem, row, random);
  return problem;
}

Problem random_problem(const Manifest& manifest, const std::string& rec, LaunchSize size, unsigned seed) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = rec::parse(rec, "test", context);
  const Case drawn = random_case(rec::recurrence_of(*module), manifest, size, seed);
  Problem problem{size, {}, Storage::tokens_first, {}};
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_given(spec.role)) continue;
    const HostTensor& tensor = drawn.tensors.at(spec.name);
    auto& values = problem.values[spec.name];
    for (std::size_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.get(i));
  }
  return problem;
}

Values rounded(const Manifest& manifest, const Problem& problem) {
  Values values;
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_given(spec.role) || problem.absent.contains(spec.name)) continue;
    auto& x = values[spec.name] = problem.values.at(spec.name);
    HostTensor element(spec.dtype, {1});
    for (double& value : x) {
      element.set(0, value);
      value = element.get(0);
    }
  }
  return values;
}

//===- The reference ---------------------------------------------------------------------------------------------===//

namespace {

struct Givens {
  rec::Tensors inputs, output_gradients;
  std::vector<double> initial_state, final_gradient;
};

Givens givens_of(const Manifest& manifest, const LaunchSize& size, const Values& values) {
  Givens givens;
  for (const TensorSpec& spec : manifest.tensors) {
    const auto found = values.find(spec.name);
    if (found == values.end()) continue;
    std::vector<double> given = to_recurrence(spec, manifest, size, found->second);
    if (spec.role == Role::initial_state)
      givens.initial_state = std::move(given);
    else if (spec.role == Role::final_state_gradient)
      givens.final_gradient = std::move(given);
    else if (spec.role == Role::output_gradient)
      givens.output_gradients[std::string(differentiated(spec))] = std::move(given);
    else
      givens.inputs[spec.name] = std::move(given);
  }
  return givens;
}

}  // namespace

Values reference_of(const Manifest& manifest, const std::string& rec, LaunchSize size, const Values& values) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = rec::parse(rec, "test", context);
  auto recurrence = rec::recurrence_of(*module);
  const rec::Shape shape{size.batches, size.tokens, size.heads};
  const Givens givens = givens_of(manifest, size, values);
  const rec::Result forward =
      rec::interpret(recurrence, shape, givens.inputs, givens.initial_state, nullptr, manifest.states_every);
  rec::Gradients backward;
  if (!givens.output_gradients.empty())
    backward = rec::differentiate(recurrence, shape, givens.inputs, givens.initial_state,
                                  rec::with_ones_for_others(recurrence, shape, givens.output_gradients),
                                  givens.final_gradient);
  Values results;
  for (const TensorSpec& spec : manifest.tensors) {
    if (spec.role == Role::output) results[spec.name] = forward.outputs.at(spec.name);
    if (spec.role == Role::final_state) results[spec.name] = forward.final_state;
    if (spec.role == Role::intermediate_states) results[spec.name] = forward.intermediate_states;
    if (spec.role == Role::initial_state_gradient) results[spec.name] = backward.initial_state;
    if (spec.role == Role::input_gradient || spec.role == Role::parameter_gradient)
      results[spec.name] = backward.inputs.at(std::string(differentiated(spec)));
    if (const auto found = results.find(spec.name); found != results.end())
      found->second = from_recurrence(spec, manifest, size, found->second);
  }
  return results;
}

double relative_error(const std::vector<double>& x, const std::vector<double>& reference) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) return std::numeric_limits<double>::infinity();
    difference += (x[i] - reference.at(i)) * (x[i] - reference.at(i));
    norm += reference.at(i) * reference.at(i);
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

double bound_of(const Config& config, Role role) {
  if (config.mma == "bf16x3" && config.io == "f32") return 2e-5;
  if (config.mma == "bf16") return is_gradient(role) ? 4.5e-3 : 3.2e-3;
  if (config.mma == "f32" && config.io == "f32") return is_gradient(role) ? 2e-5 : 1e-5;
  return is_gradient(role) ? 2e-3 : 1.8e-3;
}

//===- Running ---------------------------------------------------------------------------------------------------===//

namespace {

class Launch {
 public:
  Launch(const Program& program, const Problem& problem)
      : program_(program), size_(problem.size), in_place_(problem.in_place) {
    const Manifest& manifest = program.manifest();
    for (const TensorSpec& spec : manifest.tensors) {
      if (problem.absent.contains(spec.name)) continue;
      const Layout& layout = layouts_[spec.name] = layout_of(spec, manifest, size_, problem.storage);
      HostTensor& memory = memory_[spec.name] = poisoned(spec.dtype, layout);
      if (is_given(spec.role)) write(memory, layout, problem.values.at(spec.name));
    }
  }

  void run() {
    if (program_.target() == Target::host)
      run_on_host();
    else
      run_on_device();
    if (in_place_) memory_.at("final_state") = memory_.at("initial_state");
  }

  TensorMap& memory() { return memory_; }
  const Layout& layout(const std::string& name) const { return layouts_.at(name); }

 private:
  void run_on_host() {
    NamedTensors views;
    for (auto& [name, memory] : memory_) views[name] = layouts_.at(name).view(memory.view());
    launch(views, size_);
  }

  void launch(NamedTensors& views, const LaunchSize& size) const {
    if (in_place_) views.at("final_state").data = views.at("initial_state").data;
    program_.launch(views, size);
  }

  void run_on_device() {
    Device device = Device::current();
    const DeviceTensor starts = upload(device, size_.map ? size_.map->starts : nullptr,
                                       size_.map ? (size_.map->count + 1) * (size_.map->wide ? 2 : 1) : 1);
    const DeviceTensor slots = upload(device, size_.slots ? size_.slots->slots : nullptr, size_.sequences());
    const DeviceTensor report = upload(device, size_.report, 2);
    std::map<std::string, DeviceTensor> tensors;
    NamedTensors views;
    for (auto& [name, memory] : memory_) {
      auto [tensor, added] = tensors.try_emplace(name, DeviceTensor::upload(device, memory));
      views[name] = layouts_.at(name).view(tensor->second.view());
    }
    LaunchSize size = size_;
    if (size.map) size.map->starts = starts.view().data;
    if (size.slots) size.slots->slots = static_cast<const std::int32_t*>(slots.view().data);
    if (size.report != nullptr) size.report = static_cast<SequenceReport*>(report.view().data);
    launch(views, size);
    device.synchronize(nullptr);
    if (size_.report != nullptr) std::memcpy(size_.report, report.download().bytes().data(), sizeof(SequenceReport));
    for (auto& [name, memory] : memory_) memory = tensors.at(name).download();
  }

  // Words of 32 bits, as they are; zeros where there is no data.
  static DeviceTensor upload(const Device& device, const void* data, std::int64_t words) {
    HostTensor bytes(DType::f32, {words});
    if (data != nullptr) std::memcpy(bytes.bytes().data(), data, bytes.bytes().size());
    return DeviceTensor::upload(device, bytes);
  }

  const Program& program_;
  LaunchSize size_;  // its maps in the host's memory
  bool in_place_;
  std::map<std::string, Layout> layouts_;
  TensorMap memory_;
};

}  // namespace

Errors run_and_compare(const Program& program, const Problem& problem, const Values& reference) {
  Launch launch(program, problem);
  launch.run();
  Errors errors;
  for (const auto& [name, memory] : launch.memory()) {
    if (!reference.contains(name)) continue;
    const Layout& layout = launch.layout(name);
    errors[name] = written_past_tail(memory, layout) ? std::numeric_limits<double>::infinity()
                                                     : relative_error(read(memory, layout), reference.at(name));
  }
  return errors;
}

Errors run_and_compare(const Program& program, const std::string& rec, const Problem& problem) {
  const Manifest& manifest = program.manifest();
  return run_and_compare(program, problem, reference_of(manifest, rec, problem.size, rounded(manifest, problem)));
}

std::map<std::string, std::vector<std::byte>> run_raw(const Program& program, const Problem& problem) {
  std::map<std::string, std::vector<std::byte>> bytes;
  const TensorMap memory = run_in_memory(program, problem);
  for (const TensorSpec& spec : program.manifest().tensors) {
    if (!is_result(spec.role) || problem.absent.contains(spec.name)) continue;
    const auto raw = memory.at(spec.name).bytes();
    bytes[spec.name] = {raw.begin(), raw.end()};
  }
  return bytes;
}

TensorMap run_in_memory(const Program& program, const Problem& problem) {
  Launch launch(program, problem);
  launch.run();
  return std::move(launch.memory());
}

}  // namespace wkvc::test
