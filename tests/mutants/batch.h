// Variants of an emitted kernel, compiled as one text and run by mutants_runner in a process of their own.
#pragma once

#include <string>
#include <vector>

#include "runtime/tensor/safetensors.h"
#include "tests/mutants/problem.h"

namespace wkvc::test {

struct Outcome {
  TensorMap results;  // as they lie in memory; as the kernel found them where it did not run
  bool raced = false;
  bool ran = true;  // to its end: it compiles, and neither crashes nor waits in vain
};

// Whether ThreadSanitizer watches the kernels.
enum class Races { ignored, reported };

// `kernels` are kernel texts from WKVC_KERNEL on: the problem's own or edited ones. Outcomes come in their order.
std::vector<Outcome> run_batch(const MutantProblem& problem, const std::vector<std::string>& kernels, Races races);

// The same where some kernels may be none to the host compiler.
std::vector<Outcome> run_where_compiled(const MutantProblem& problem, const std::vector<std::string>& kernels,
                                        Races races);

}  // namespace wkvc::test
