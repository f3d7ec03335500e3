// The kernels of one text, run once through the whole pipeline, beside the float64 recurrence and its gradients.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/compiler.h"
#include "dsl/wkvc.h"
#include "runtime/program.h"
#include "tests/run/memory.h"

namespace wkvc::test {

// Float64 values of everything that is given, to be rounded to its storage dtype.
struct Problem {
  LaunchSize size;
  std::map<std::string, std::vector<double>> values;
  Storage storage = Storage::tokens_first;
  std::set<std::string> absent;  // states and gradients of states that are neither given nor asked for
  bool in_place = false;         // the final state replaces the initial one
};

// By name; of results, their relative errors ‖x−ref‖/‖ref‖. NaN or infinity anywhere gives infinity, and so does
// anything that is written past the tail.
using Errors = std::map<std::string, double>;
using Values = std::map<std::string, std::vector<double>>;

std::string cuda_text(const Definition& definition, const Config& config);

// Random values of the recurrence's own kind: rank-one pairs a = −k̂, b = β·k̂ over keys named a and b, unit keys,
// everything else normal. Overwrite what a test needs otherwise.
Problem random_problem(const Manifest& manifest, LaunchSize size, unsigned seed);

// Values of the kind that the recurrence `rec` uses them as, whatever their names (see checking/values/cases.h).
Problem random_problem(const Manifest& manifest, const std::string& rec, LaunchSize size, unsigned seed);

// The values as they are stored.
Values rounded(const Manifest& manifest, const Problem& problem);

// Every result of `manifest` by the recurrence `rec`, from values that are rounded already.
Values reference_of(const Manifest& manifest, const std::string& rec, LaunchSize size, const Values& values);

double relative_error(const std::vector<double>& x, const std::vector<double>& reference);

// Of a result's relative error, by operand dtype: the official fp32 kernel's with bf16 results, the best public bf16
// kernel's, and f32 throughout.
double bound_of(const Config& config, Role role);

// Runs the program with poisoned results and internals.
Errors run_and_compare(const Program& program, const Problem& problem, const Values& reference);
Errors run_and_compare(const Program& program, const std::string& rec, const Problem& problem);

// The raw bytes of every result, for bit-exact comparisons.
std::map<std::string, std::vector<std::byte>> run_raw(const Program& program, const Problem& problem);

// All tensors in memory after a run, results and internals among them.
TensorMap run_in_memory(const Program& program, const Problem& problem);

// Why there is no GPU for tests on `target`, or nothing.
std::string why_not(Target target);

}  // namespace wkvc::test
