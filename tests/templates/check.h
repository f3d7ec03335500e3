// Runs a kernel on every target and compares with float64.
#pragma once

#include <vector>

#include "target.h"

namespace wkvc::test {

using Values = std::vector<double>;

struct Expected {
  int tensor;  // which tensor of the launch
  Values values;
  double tolerance;  // of ‖x - ref‖ / ‖ref‖
};

void check(const Launch& launch, const std::vector<Expected>& expected);

// Also the largest |x - ref| / |ref| of single elements.
void check_elements(const Launch& launch, int tensor, const Values& expected, double tolerance);

double relative_error(const Values& x, const Values& reference);

// The same numbers in every run.
Values normal(long long count, unsigned seed);
Values uniform(long long count, double low, double high, unsigned seed);
Values rounded(DType dtype, Values values);
Values transposed(const Values& x, int rows, int columns);

}  // namespace wkvc::test
