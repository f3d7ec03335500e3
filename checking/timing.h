// Kernels on the GPU with tensors of a given shape, and how long they take.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checking/refusals.h"
#include "checking/values/timing_data.h"
#include "runtime/cuda/device_tensor.h"
#include "runtime/program.h"

namespace wkvc {

// What timing a program finds.
struct Timing {
  double ms = 0;  // median of a launch
  std::vector<Refusals> refusals = {};
};

// Sets of tensors in the GPU's memory: as many as overflow its L2 cache three times over, so that none is found there
// when its turn comes.
class TimedTensors {
 public:
  // All but what the kernels keep for each other, of the programs that have this manifest.
  TimedTensors(const Device& device, const TimingData& data, const Manifest& manifest, LaunchSize size);

  // Median milliseconds of launching `timed`, a part of `program`, which is run once before for what the part reads of
  // the rest.
  double median_ms(const Program& program, const Program& timed, int warmups, int repetitions) const;

  Timing timing(const Program& program, int repetitions) const;

  // Runs the program once, on the first set, and returns what its guarded kernels refuse.
  std::vector<Refusals> refusals(const Program& program) const;

 private:
  Device device_;
  LaunchSize size_;
  std::vector<std::map<std::string, DeviceTensor>> sets_;
};

}  // namespace wkvc
