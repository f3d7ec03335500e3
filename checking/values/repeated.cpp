#include "checking/values/repeated.h"

#include <algorithm>
#include <cstring>

namespace wkvc {
namespace {

std::size_t row_bytes(const HostTensor& tensor) {
  return static_cast<std::size_t>(tensor.shape().back()) * size_of(tensor.dtype());
}

// Moves on to the next row: the last but one dimension is the fastest.
void advance(std::vector<std::int64_t>& row, const std::vector<std::int64_t>& shape) {
  for (std::size_t d = row.size(); d > 0; --d) {
    if (++row[d - 1] < shape[d - 1]) return;
    row[d - 1] = 0;
  }
}

}  // namespace

HostTensor repeated(const HostTensor& given, const std::vector<std::int64_t>& shape) {
  HostTensor result(given.dtype(), shape);
  const std::size_t length = row_bytes(result), piece = row_bytes(given);
  std::vector<std::int64_t> row(shape.size() - 1, 0);
  for (std::size_t to = 0; to < result.bytes().size(); to += length, advance(row, shape)) {
    std::size_t from = 0;
    for (std::size_t d = 0; d < row.size(); ++d)
      from = from * static_cast<std::size_t>(given.shape()[d]) + static_cast<std::size_t>(row[d] % given.shape()[d]);
    for (std::size_t at = 0; at < length; at += piece)
      std::memcpy(result.bytes().data() + to + at, given.bytes().data() + from * piece, std::min(piece, length - at));
  }
  return result;
}

}  // namespace wkvc
