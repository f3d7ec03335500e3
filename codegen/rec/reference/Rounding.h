// Random rounding errors of a number format, as Monte Carlo arithmetic draws them.
#pragma once

#include <cstdint>
#include <random>

#include "codegen/rec/reference/Machine.h"

namespace wkvc::rec {

// Which of the operands that a kernel contracts are rounded: all where inputs are stored in more bits than operands
// have, else about half.
enum class Rounded { half, all };

// Relative errors of up to half a unit in the last of `bits` significant bits, as of numbers whose mantissas are spread
// logarithmically; over the root of 2 where half of the operands are rounded. The errors come from a table, which each
// array enters at a place drawn from the seed.
class Rounding {
 public:
  Rounding(int bits, std::uint64_t seed, Rounded operands = Rounded::half);

  // The standard deviation of the relative errors: 0.3 of 2^-bits where half of the operands are rounded.
  static double deviation(int bits, Rounded operands);

  double error();  // uniform from -1 to 1

  // Makes `rounded` the elements of `exact`, each with an error of its own.
  void apply(const Array& exact, Array& rounded);

 private:
  std::mt19937_64 engine_;
  Array factors_;
};

// An operand of a contraction as it enters: the array itself, or its elements with rounding errors that differ each
// time.
class Operand {
 public:
  Operand(const Array& exact, Rounding* rounding) : exact_(&exact), rounding_(rounding) {}

  const Array& get() {
    if (!rounding_) return *exact_;
    rounding_->apply(*exact_, rounded_);
    return rounded_;
  }

 private:
  const Array* exact_;
  Rounding* rounding_;  // null: exact
  Array rounded_;
};

}  // namespace wkvc::rec
