// Tensors row by row: the vector of a token and head, the state of a head, a head's parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/launch/launch_size.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

using Place = std::vector<std::pair<std::string_view, std::int64_t>>;  // {{"batch", 0}, {"token", 17}, {"head", 1}}

std::string text_of(const Place& place);  // "batch 0, token 17, head 1"

// Rows lie one after another, those of one head every `heads` rows.
class Rows {
 public:
  Rows(const TensorSpec& spec, const Manifest& manifest, LaunchSize size);

  std::size_t count() const { return count_; }
  std::size_t length() const { return length_; }  // elements of a row
  std::size_t heads() const { return heads_; }

  Place place(std::size_t row) const;

  // The elements of all rows of `count` heads from `first` on, in their order.
  std::vector<double> of_heads(const std::vector<double>& values, std::size_t first, std::size_t count) const;

 private:
  std::vector<std::pair<std::string_view, std::int64_t>> extents_;  // of the dimensions that count rows
  std::size_t count_ = 1, length_ = 1, heads_ = 1;
};

}  // namespace wkvc
