// Random rounding errors of a number format, as Monte Carlo arithmetic draws them.
#pragma once

#include <cstdint>
#include <random>

#include "codegen/rec/reference/Machine.h"

namespace wkvc::rec {

// Relative errors of up to half a unit in the last of `bits` significant bits, as of numbers whose mantissas are spread
// logarithmically. The errors come from a table, which each array enters at a place drawn from the seed.
class Rounding {
 public:
  // `rest_bits` are those of what is left where sums of products cancel.
  Rounding(double bits, std::uint64_t seed, double rest_bits = 18);

  double rest();  // uniform, up to one in the last of the bits of rests

  // Makes `rounded` the elements of `exact`, each with an error of its own.
  void apply(const Array& exact, Array& rounded);

 private:
  double error();  // uniform from -1 to 1

  std::mt19937_64 engine_;
  Array factors_;
  double rest_;
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
