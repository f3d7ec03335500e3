#include "checking/values/arrangement.h"

#include <algorithm>

namespace wkvc {
namespace {

bool has_keys_first(const TensorSpec& spec) {
  const std::size_t rank = spec.dims.size();
  return rank >= 4 && spec.dims[rank - 2] == "K" && spec.dims[rank - 1] == "V";
}

std::size_t row_length(const TensorSpec& spec, const Manifest& manifest, LaunchSize size) {
  return spec.dims.size() == 4 ? static_cast<std::size_t>(shape_of(spec, manifest, size)[3]) : 1;
}

std::vector<double> repeated_rows(const std::vector<double>& values, std::size_t length, std::size_t group) {
  std::vector<double> repeated;
  repeated.reserve(values.size() * group);
  for (auto row = values.begin(); row != values.end(); row += static_cast<std::ptrdiff_t>(length)) {
    for (std::size_t n = 0; n < group; ++n) {
      repeated.insert(repeated.end(), row, row + static_cast<std::ptrdiff_t>(length));
    }
  }
  return repeated;
}

// Matrices of `rows` by `columns`, one after the other.
std::vector<double> transposed(const std::vector<double>& values, std::size_t rows, std::size_t columns) {
  std::vector<double> result(values.size());
  const std::size_t size = rows * columns;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i % size / columns, column = i % columns;
    result[i / size * size + column * rows + row] = values[i];
  }
  return result;
}

}  // namespace

bool is_shared(const TensorSpec& spec) { return std::ranges::find(spec.dims, "S") != spec.dims.end(); }

TensorSpec as_in_recurrence(TensorSpec spec) {
  std::ranges::replace(spec.dims, "S", "H");
  if (has_keys_first(spec)) std::iter_swap(spec.dims.end() - 2, spec.dims.end() - 1);
  return spec;
}

std::vector<double> to_recurrence(const TensorSpec& spec, const Manifest& manifest, LaunchSize size,
                                  const std::vector<double>& values) {
  const auto keys = static_cast<std::size_t>(manifest.key_dim), rows = static_cast<std::size_t>(manifest.head_values());
  if (has_keys_first(spec)) return transposed(values, keys, rows);
  if (!is_shared(spec)) return values;
  return repeated_rows(values, row_length(spec, manifest, size), static_cast<std::size_t>(size.group()));
}

std::vector<double> from_recurrence(const TensorSpec& spec, const Manifest& manifest, LaunchSize size,
                                    const std::vector<double>& values) {
  const auto keys = static_cast<std::size_t>(manifest.key_dim), rows = static_cast<std::size_t>(manifest.head_values());
  if (has_keys_first(spec)) return transposed(values, rows, keys);
  if (!is_shared(spec)) return values;
  return summed_rows(values, row_length(spec, manifest, size), static_cast<std::size_t>(size.group()));
}

std::vector<double> summed_rows(const std::vector<double>& values, std::size_t length, std::size_t group) {
  std::vector<double> sums(values.size() / group);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i / length / group * length + i % length] += values[i];
  return sums;
}

}  // namespace wkvc
