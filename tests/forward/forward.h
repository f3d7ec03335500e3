// One forward pass of a recurrence through the whole pipeline, beside the float64 recurrence.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/compiler.h"
#include "codegen/rec/Interpreter.h"
#include "dsl/wkvc.h"
#include "runtime/kernel.h"

namespace wkvc::test {

// Float64 values of every input, parameter and the initial state, to be rounded to the kernel's storage dtypes.
struct Problem {
  LaunchSize size;
  std::map<std::string, std::vector<double>> values;
  bool head_first = false;  // storage [B,H,T,D] behind the shape [B,T,H,D]
};

// Relative errors ‖x−ref‖/‖ref‖ by name; NaN or infinity anywhere gives infinity.
using Errors = std::map<std::string, double>;

std::string cuda_text(const Definition& definition, const Config& config);

// Random inputs of the recurrence's own kind: rank-one pairs a = −k̂, b = β·k̂ over keys named a and b, unit keys,
// everything else normal. Overwrite what a test needs otherwise.
Problem random_problem(const Manifest& manifest, LaunchSize size, unsigned seed);

// Runs the kernel's text on `target` with poisoned outputs and compares o and final_state with the recurrence `rec`.
Errors run_and_compare(const std::string& cuda, const std::string& rec, const Problem& problem, Target target);

// The raw bytes of every output, for bit-exact comparisons.
std::map<std::string, std::vector<std::byte>> run_raw(const Kernel& kernel, const Problem& problem);

}  // namespace wkvc::test
