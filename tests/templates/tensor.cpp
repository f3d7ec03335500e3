#include "tensor.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "wkvc/host/convert.h"

namespace wkvc::test {

namespace {

std::size_t bytes_of(DType dtype) { return dtype == DType::f32 ? 4 : 2; }

double read(DType dtype, const std::byte* p) {
  if (dtype == DType::f32) {
    float x;
    std::memcpy(&x, p, sizeof(x));
    return x;
  }
  std::uint16_t bits;
  std::memcpy(&bits, p, sizeof(bits));
  return dtype == DType::f16 ? host::widen_f16(bits) : host::widen_bf16(bits);
}

void write(DType dtype, std::byte* p, double value) {
  const auto x = static_cast<float>(value);
  if (dtype == DType::f32) {
    std::memcpy(p, &x, sizeof(x));
    return;
  }
  const std::uint16_t bits = dtype == DType::f16 ? host::round_f16(x) : host::round_bf16(x);
  std::memcpy(p, &bits, sizeof(bits));
}

}  // namespace

double rounded(DType dtype, double x) {
  std::byte bytes[4];
  write(dtype, bytes, x);
  return read(dtype, bytes);
}

Tensor::Tensor(DType dtype, Shape shape, int padding)
    : dtype_(dtype),
      shape_(shape),
      pitch_(shape.columns + padding),
      bytes_(shape.batches * shape.rows * shape.heads * pitch_ * bytes_of(dtype), std::byte{0xff}) {}

Tensor Tensor::state(Shape shape) {
  Tensor tensor(DType::f32, shape);
  tensor.heads_first_ = true;
  return tensor;
}

Tensor Tensor::absent() { return Tensor(DType::f32, Shape{0, 0, 0, 0}); }

std::size_t Tensor::offset(long long i) const {
  return (i / shape_.columns * pitch_ + i % shape_.columns) * bytes_of(dtype_);
}

Tensor& Tensor::set(const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) write(dtype_, &bytes_[offset(i)], values[i]);
  return *this;
}

std::vector<double> Tensor::values() const {
  std::vector<double> values(shape_.size());
  for (long long i = 0; i < shape_.size(); ++i) values[i] = read(dtype_, &bytes_[offset(i)]);
  return values;
}

bool Tensor::padding_is_untouched() const {
  for (long long line = 0; line < shape_.batches * shape_.rows * shape_.heads; ++line) {
    for (long long column = shape_.columns; column < pitch_; ++column) {
      if (!std::isnan(read(dtype_, &bytes_[(line * pitch_ + column) * bytes_of(dtype_)]))) return false;
    }
  }
  return true;
}

TensorArg Tensor::argument(void* data) const {
  if (shape_.size() == 0) return TensorArg{};
  const bool vector16 = pitch_ * bytes_of(dtype_) % 16 == 0;
  const long long row = heads_first_ ? pitch_ : shape_.heads * pitch_;
  const long long head = heads_first_ ? shape_.rows * pitch_ : pitch_;
  return TensorArg{data, shape_.rows * shape_.heads * pitch_, row, head, vector16};
}

}  // namespace wkvc::test
