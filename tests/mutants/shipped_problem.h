// The kernels of a shipped configuration, each of which may be replaced by a mutant between those that run before and
// those that run after it.
#pragma once

#include <string>

#include "tests/mutants/problem.h"
#include "tests/mutants/shipped.h"

namespace wkvc::test {

class ShippedProblem {
 public:
  // Of the kernel called `symbol`.
  ShippedProblem(const ShippedConfig& shipped, const std::string& symbol);

  const MutantProblem& kernel() const { return kernel_; }  // as it finds the memory
  // Why the program's results are wrong where the kernel leaves these tensors, or nothing.
  std::string fault_of(const TensorMap& written) const;

 private:
  void run(std::size_t from, std::size_t to, TensorMap& memory) const;
  void launch(const Kernel& kernel, TensorMap& memory) const;

  Config config_;
  Program program_;
  LaunchSize size_;
  std::size_t place_;  // among the program's kernels
  TensorMap memory_;
  Values expected_;
  MutantProblem kernel_;
};

// The symbols of a configuration's kernels, but for sums over batches.
std::vector<std::string> symbols_of(const ShippedConfig& shipped);

}  // namespace wkvc::test
