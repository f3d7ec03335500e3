// One configuration, compiled.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "autotune/lockfile/candidate.h"
#include "autotune/search/model.h"
#include "checking/passes.h"
#include "codegen/compiler.h"
#include "runtime/program.h"

namespace wkvc {

struct Trial {
  Config config;
  std::string fault;  // why there are no kernels of it; empty: there are
  std::string text;   // of the cuda stage
  std::vector<KernelFacts> kernels;

  // The largest of what the kernels use, for records.
  KernelUse use() const;
  Program load(Target target) const;
  // What checking them takes; there have to be kernels.
  Runnable runnable(Passes passes) const;
};

// A text of the cuda stage as a trial. Throws what compiling throws.
Trial trial_of(Config config, std::string text);

// Lowers and compiles a configuration. What it lacks (range, shared memory) becomes its fault; so does a fault of
// wkvc's own, which is no reason to lose other configurations.
Trial tried(const Source& source, const Config& config);

}  // namespace wkvc
