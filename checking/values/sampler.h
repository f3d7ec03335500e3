// Fills tensors at random, as cases.h says.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "checking/values/draw.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {

class Sampler {
 public:
  explicit Sampler(std::uint64_t seed) : engine_(seed) {}

  void fill(HostTensor& tensor, const Draw& draw);

  // -`erased` times uniform in [0, 1].
  void erase(HostTensor& tensor, const HostTensor& erased, const rec::Interval& range);

  // Draws some decays anew, from all of their declared range. `of_state`: one number decays the whole state.
  void steepen(HostTensor& tensor, const Draw& draw, bool of_state);

 private:
  double one(const Draw& draw);

  std::mt19937_64 engine_;
  std::uniform_real_distribution<double> raw_decay_{-6, -1};
  std::uniform_real_distribution<double> unit_interval_{0, 1};
  std::normal_distribution<double> normal_;
};

}  // namespace wkvc
