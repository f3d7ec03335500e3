#include "tests/forward/forward.h"

#include <mlir/IR/MLIRContext.h>

#include <cmath>
#include <limits>
#include <random>

#include "runtime/device_tensor.h"

namespace wkvc::test {

std::string cuda_text(const Definition& definition, const Config& config) {
  return lower_to(source_from(rec_text(definition, config)), Stage::cuda, config);
}

namespace {

bool is_written(Role role) { return role == Role::output || role == Role::final_state; }

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

// Memory order of a [B,T,H,D] tensor stored head first: [B,H,T,D].
std::size_t stored_index(const std::vector<std::int64_t>& shape, std::size_t i, bool head_first) {
  if (!head_first || shape.size() != 4) return i;
  auto T = shape[1], H = shape[2], D = shape[3];
  auto d = static_cast<std::int64_t>(i) % D, h = static_cast<std::int64_t>(i) / D % H;
  auto t = static_cast<std::int64_t>(i) / D / H % T, b = static_cast<std::int64_t>(i) / D / H / T;
  return static_cast<std::size_t>(((b * H + h) * T + t) * D + d);
}

struct Held {
  TensorSpec spec;
  std::vector<std::int64_t> shape;
  HostTensor host;
  bool head_first;

  Tensor view(Tensor tensor) const {
    tensor.shape = shape;
    tensor.strides = contiguous_strides(shape);
    if (head_first) {
      auto T = shape[1], H = shape[2], D = shape[3];
      tensor.strides = {H * T * D, D, T * D, 1};
    }
    return tensor;
  }
};

std::vector<Held> hold(const Manifest& manifest, const Problem& problem) {
  std::vector<Held> tensors;
  for (const TensorSpec& spec : manifest.tensors) {
    auto shape = shape_of(spec, manifest, problem.size);
    bool token_tensor = spec.role == Role::input || spec.role == Role::output;
    Held held{spec, shape, HostTensor(spec.dtype, shape), problem.head_first && token_tensor && shape.size() == 4};
    if (is_written(spec.role)) {
      held.host.poison();
    } else {
      const auto& values = problem.values.at(spec.name);
      for (std::size_t i = 0; i < held.host.size(); ++i)
        held.host.set(stored_index(shape, i, held.head_first), values.at(i));
    }
    tensors.push_back(std::move(held));
  }
  return tensors;
}

void launch(const Kernel& kernel, std::vector<Held>& tensors, const Problem& problem) {
  std::vector<Tensor> views;
  if (kernel.target() == Target::host) {
    for (Held& held : tensors) views.push_back(held.view(held.host.view()));
    kernel.launch(views, problem.size);
    return;
  }
  Device device = Device::current();
  std::vector<DeviceTensor> device_tensors;
  for (Held& held : tensors) device_tensors.push_back(DeviceTensor::upload(device, held.host));
  for (std::size_t i = 0; i < tensors.size(); ++i) views.push_back(tensors[i].view(device_tensors[i].view()));
  kernel.launch(views, problem.size);
  device.synchronize(nullptr);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (is_written(tensors[i].spec.role)) tensors[i].host = device_tensors[i].download();
}

std::vector<double> logical_values(const Held& held) {
  std::vector<double> x(held.host.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = held.host.get(stored_index(held.shape, i, held.head_first));
  return x;
}

double relative_error(const std::vector<double>& x, const std::vector<double>& reference) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) return std::numeric_limits<double>::infinity();
    difference += (x[i] - reference.at(i)) * (x[i] - reference.at(i));
    norm += reference.at(i) * reference.at(i);
  }
  return std::sqrt(difference / norm);
}

}  // namespace

Problem random_problem(const Manifest& manifest, LaunchSize size, unsigned seed) {
  std::mt19937_64 random(seed);
  Problem problem{size, {}, false};
  for (const TensorSpec& spec : manifest.tensors) {
    if (is_written(spec.role)) continue;
    auto shape = shape_of(spec, manifest, size);
    auto x = normal(static_cast<std::size_t>(element_count(shape)), random);
    if (spec.name == "a") normalise_rows(x, manifest.key_dim);
    problem.values[spec.name] = std::move(x);
  }
  if (problem.values.contains("a") && problem.values.contains("b")) {
    std::uniform_real_distribution<double> beta(0, 1);
    auto& a = problem.values["a"];
    auto& b = problem.values["b"];
    double scale = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (i % manifest.key_dim == 0) scale = beta(random);
      b[i] = -a[i] * scale;
    }
  }
  return problem;
}

Errors run_and_compare(const std::string& cuda, const std::string& rec, const Problem& problem, Target target) {
  Kernel kernel = Kernel::load(cuda, target);
  auto tensors = hold(kernel.manifest(), problem);
  rec::Tensors inputs;
  std::vector<double> initial_state;
  for (const Held& held : tensors) {
    if (held.spec.role == Role::initial_state) initial_state = logical_values(held);
    if (held.spec.role == Role::input || held.spec.role == Role::parameter)
      inputs[held.spec.name] = logical_values(held);
  }
  launch(kernel, tensors, problem);
  mlir::MLIRContext context;
  auto module = rec::parse(rec, "test", context);
  rec::Shape shape{problem.size.batches, problem.size.tokens, problem.size.heads};
  auto reference = rec::interpret(rec::recurrence_of(*module), shape, inputs, initial_state);
  Errors errors;
  for (const Held& held : tensors) {
    if (held.spec.role == Role::output)
      errors[held.spec.name] = relative_error(logical_values(held), reference.outputs.at(held.spec.name));
    if (held.spec.role == Role::final_state)
      errors[held.spec.name] = relative_error(logical_values(held), reference.final_state);
  }
  return errors;
}

std::map<std::string, std::vector<std::byte>> run_raw(const Kernel& kernel, const Problem& problem) {
  auto tensors = hold(kernel.manifest(), problem);
  launch(kernel, tensors, problem);
  std::map<std::string, std::vector<std::byte>> bytes;
  for (Held& held : tensors)
    if (is_written(held.spec.role)) bytes[held.spec.name] = {held.host.bytes().begin(), held.host.bytes().end()};
  return bytes;
}

}  // namespace wkvc::test
