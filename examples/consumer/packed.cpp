// Kernels that were compiled while this program was built, forward and backward, on the GPU if there is one that they
// are for, else on the CPU. Prints a sum of the results, and fails where it is not what one token at a time gives.
#include <cmath>
#include <cstdio>
#include <vector>

#include "my_kernels.h"
#include "runtime/cuda/device_tensor.h"
#include "runtime/error.h"

namespace {

using wkvc::Device;
using wkvc::DeviceBuffer;
using wkvc::DType;
using wkvc::LaunchSize;
using wkvc::Target;

constexpr LaunchSize size{1, 40, 2};
constexpr std::int64_t K = 32;
constexpr std::size_t elements = size.batches * size.tokens * size.heads * K;

// Memory of the target's that holds `values`.
class Memory {
 public:
  Memory(Target target, std::vector<float> values) : values_(std::move(values)) {
    if (target == Target::host) return;
    buffer_.emplace(Device::current(), bytes());
    Device::current().copy_to_device(buffer_->data(), values_.data(), bytes(), nullptr);
  }

  float* data() { return buffer_ ? static_cast<float*>(buffer_->data()) : values_.data(); }
  const std::vector<float>& read() {
    if (buffer_) {
      Device::current().copy_to_host(values_.data(), buffer_->data(), bytes(), nullptr);
      Device::current().synchronize(nullptr);
    }
    return values_;
  }

 private:
  std::size_t bytes() const { return values_.size() * sizeof(float); }

  std::vector<float> values_;
  std::optional<DeviceBuffer> buffer_;
};

std::vector<float> wave(double step) {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i)
    values[i] = static_cast<float>(0.2 * std::sin(step * static_cast<double>(i)));
  return values;
}

// S = 0.9·S + v·kᵀ, o = S·q.
std::vector<double> leaky(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v) {
  std::vector<double> o(elements, 0);
  for (std::int64_t h = 0; h < size.heads; ++h) {
    std::vector<double> S(K * K, 0);
    for (std::int64_t t = 0; t < size.tokens; ++t) {
      const std::size_t row = static_cast<std::size_t>(t * size.heads + h) * K;
      for (std::size_t i = 0; i < K; ++i) {
        for (std::size_t j = 0; j < K; ++j) {
          S[i * K + j] = static_cast<double>(0.9f) * S[i * K + j] + double{v[row + i]} * double{k[row + j]};
          o[row + i] += S[i * K + j] * double{q[row + j]};
        }
      }
    }
  }
  return o;
}

double error_of(const std::vector<float>& given, const std::vector<double>& expected) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    difference += (given[i] - expected[i]) * (given[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference / norm);
}

// Forward by the class without the backward pass.
double forward_error(Target target) {
  const std::vector<float> q = wave(0.7), k = wave(1.3), v = wave(2.1);
  Memory q_(target, q), k_(target, k), v_(target, v), o_(target, std::vector<float>(elements, NAN));
  const std::array<std::int64_t, 4> shape{size.batches, size.tokens, size.heads, K};
  const my_kernels::leaky_f32_32 op(target);
  op.forward({.q = {q_.data(), shape}, .k = {k_.data(), shape}, .v = {v_.data(), shape}, .o = {o_.data(), shape}},
             size);
  return error_of(o_.read(), leaky(q, k, v));
}

// The gradient by v of the sum of o, against a difference of two forward passes along one direction.
double gradient_error(Target target) {
  const std::vector<float> q = wave(0.7), k = wave(1.3), v = wave(2.1), direction = wave(3.3);
  const std::array<std::int64_t, 4> shape{size.batches, size.tokens, size.heads, K};
  Memory q_(target, q), k_(target, k), v_(target, v), o_(target, wave(0)), do_(target, std::vector<float>(elements, 1));
  Memory dq_(target, wave(0)), dk_(target, wave(0)), dv_(target, std::vector<float>(elements, NAN));
  const my_kernels::leaky_f32_32_training op(target);
  Memory workspace(target, std::vector<float>(static_cast<std::size_t>(op.workspace_bytes(size)) / 4 + 64));
  auto* const aligned = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(workspace.data()) + 255) / 256 * 256);
  op.forward({.q = {q_.data(), shape}, .k = {k_.data(), shape}, .v = {v_.data(), shape}, .o = {o_.data(), shape}}, size,
             aligned);
  op.backward({.q = {q_.data(), shape},
               .k = {k_.data(), shape},
               .v = {v_.data(), shape},
               .do_ = {do_.data(), shape},
               .dq = {dq_.data(), shape},
               .dk = {dk_.data(), shape},
               .dv = {dv_.data(), shape}},
              size, aligned);
  const std::vector<double> change = leaky(q, k, direction);  // o is linear in v
  double expected = 0, found = 0;
  for (std::size_t i = 0; i < elements; ++i) expected += change[i];
  for (std::size_t i = 0; i < elements; ++i) found += double{dv_.read()[i]} * double{direction[i]};
  return std::abs(found - expected) / std::abs(expected);
}

}  // namespace

int main() {
  try {
    const Target target = wkvc::cuda_available(nullptr) ? Target::cuda : Target::host;
    const double forward = forward_error(target), gradient = gradient_error(target);
    std::printf("on %s: error of o %.1e, of a gradient %.1e\n", target == Target::cuda ? "cuda" : "cpu", forward,
                gradient);
    return forward < 1e-5 && gradient < 1e-4 ? 0 : 1;
  } catch (const wkvc::UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
