// Where a test kernel can run. One text, several targets: compiled for the host, compiled for cuda and run lane by lane
// on the CPU, and (once the runtime has a launcher) on a GPU.
#pragma once

#include <string>
#include <vector>

#include "tensor.h"

namespace wkvc::test {

struct Launch {
  std::string file;   // kernels/<file>.cu
  std::string entry;  // the kernel in it
  int warps = 1;
  long long shared_bytes = 64 * 1024;
  long long batches = 1, tokens = 0, heads = 1;
  std::vector<Tensor> tensors = {};
  long long segments = 1;
  long long group = 1;        // heads that share one
  int cluster = 1;            // blocks, as the kernel's text says
  double stall_seconds = 20;  // before the host calls it a deadlock
};

class Target {
 public:
  virtual ~Target() = default;

  virtual std::string name() const = 0;
  virtual void run(Launch& launch) const = 0;  // throws std::runtime_error
};

// Those that this machine has.
const std::vector<const Target*>& targets();

}  // namespace wkvc::test
