// Normal numbers, the same in every run.
#pragma once

#include <random>
#include <vector>

namespace wkvc::test {

inline std::vector<double> random_array(std::size_t size, unsigned seed, double scale = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> array(size);
  for (double& x : array) x = normal(generator);
  return array;
}

}  // namespace wkvc::test
