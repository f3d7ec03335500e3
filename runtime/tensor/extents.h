// The sizes or strides of a tensor, held in place: copying them allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace wkvc {

class Extents {
 public:
  static constexpr std::size_t max_rank = 6;
  using value_type = std::int64_t;
  using iterator = std::int64_t*;
  using const_iterator = const std::int64_t*;

  // More than max_rank of them are a UserError, here and in push_back.
  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values) : Extents(std::span(values.begin(), values.size())) {}
  explicit Extents(std::span<const std::int64_t> values) {
    if (values.size() > max_rank) refuse(values.size());
    for (const std::int64_t value : values) values_[size_++] = value;
  }
  operator std::vector<std::int64_t>() const { return {begin(), end()}; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t* data() { return values_.data(); }
  const std::int64_t* data() const { return values_.data(); }
  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  std::int64_t back() const { return values_[size_ - 1]; }

  void push_back(std::int64_t value) {
    if (size_ == max_rank) refuse(size_ + 1);
    values_[size_++] = value;
  }
  void pop_back() { --size_; }

  friend bool operator==(const Extents& a, const Extents& b) { return a == std::span<const std::int64_t>(b); }
  friend bool operator==(const Extents& a, std::span<const std::int64_t> b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < b.size(); ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

 private:
  [[noreturn]] static void refuse(std::size_t rank);

  std::array<std::int64_t, max_rank> values_{};
  std::size_t size_ = 0;
};

}  // namespace wkvc
