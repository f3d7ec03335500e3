// What errors that were drawn at random say of the errors that may be.
#pragma once

#include <array>
#include <span>

namespace wkvc {

// How large an error may be that is one more draw.
struct ErrorLimit {
  double norm = 0;     // which one vector in a million exceeds
  double freedom = 1;  // of how many independent normal numbers it is as good as: 1 for a number times a fixed vector
};

// Errors of one vector, such as a result's row, as rounding at random left them in several runs.
class ErrorDraws {
 public:
  static constexpr std::size_t count = 8;

  ErrorDraws() = default;
  // `errors` are those of the vector, `count` times.
  explicit ErrorDraws(const std::array<std::span<const double>, count>& errors);

  // Appends another vector to this one.
  ErrorDraws& operator+=(const ErrorDraws& other);

  ErrorLimit limit() const;

 private:
  double mean_square() const;
  double freedom() const;

  std::array<std::array<double, count>, count> products_{};  // of each two draws, the later first
};

}  // namespace wkvc
