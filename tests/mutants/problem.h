// A kernel and inputs that leave a mutant nowhere to hide: several batches and heads with data of their own, an initial
// state, a tail with NaN behind it, and magnitudes at which every scale of an f16 operand matters.
#pragma once

#include <memory>
#include <string>

#include "dsl/wkvc.h"
#include "tests/mutants/judge.h"
#include "tests/run/run.h"

namespace wkvc::test {

struct MutantProblem {
  std::string kernel;  // the emitted text from WKVC_KERNEL on
  Manifest manifest;
  LaunchSize size;
  TensorMap memory;                              // what is to be written is NaN
  std::shared_ptr<const Judge> judge = nullptr;  // of the program's results; a workspace holds parts for each batch
};

// From WKVC_KERNEL on, of one of the kernels of a text.
std::string kernel_in(const std::string& text, const std::string& symbol);

// At which kernels without scales refuse, and at which every scale of the others matters.
Problem problem_of_all_magnitudes(const Definition& definition, const Manifest& manifest, LaunchSize size);

MutantProblem mutant_problem(const Definition& definition, Config config);
// The same in teams.
MutantProblem teams_problem(const Definition& definition, Config config);
// The same in teams of warps of their own, a round ahead.
MutantProblem ahead_problem(const Definition& definition, Config config);
MutantProblem cluster_problem(const Definition& definition, Config config);
MutantProblem guarded_cluster_problem(const Definition& definition, Config config);

// The kernel of the backward pass, for small heads, with what the forward kernel saved: all states, those of every
// second chunk, or of every fourth, and at the end of the sequence a group of one chunk.
MutantProblem backward_problem(const Definition& definition, Config config);
MutantProblem pairs_problem(const Definition& definition, Config config);
MutantProblem backward_teams_problem(const Definition& definition, Config config);  // heads of 64: teams of two warps
MutantProblem again_problem(const Definition& definition, Config config);  // without scales, every other round twice
MutantProblem groups_problem(const Definition& definition, Config config);
MutantProblem no_copies_problem(const Definition& definition, Config config);  // ahead, for want of shared memory

// Why these results are wrong, or nothing when `check` passes them and nothing past the tail was written.
std::string fault_of(const MutantProblem& problem, const TensorMap& results);

}  // namespace wkvc::test
