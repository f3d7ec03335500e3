// One configuration, compiled.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
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

// Lowers and compiles every configuration, several at a time; what a configuration lacks (range, shared memory) becomes
// its fault. `done` is called after each, by one thread at a time, with how many are finished; while it returns false,
// no more are begun, and what was not is left out of the result: those that were are spread over the space.
std::vector<Trial> compile_all(const Source& source, std::span<const Config> space, unsigned threads,
                               const std::function<bool(std::size_t)>& done);

}  // namespace wkvc
