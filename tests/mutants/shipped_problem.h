// The kernels of a shipped configuration, each of which may be replaced by a mutant between those that run before and
// those that run after it.
#pragma once

#include <string>

#include "tests/mutants/problem.h"
#include "tests/mutants/shipped.h"

namespace wkvc::test {

// Of any magnitude, so that no kernel without scales takes them; what f16 holds; or the same but for one number, which
// one block refuses on its way.
enum class Numbers { any, held, refused };

class ShippedProblem {
 public:
  // Of the kernel called `symbol`.
  ShippedProblem(const ShippedConfig& shipped, const std::string& symbol, Numbers numbers);

  const MutantProblem& kernel() const { return kernel_; }  // as it finds the memory
  // Why the program's results are wrong where the kernel leaves these tensors, or nothing.
  std::string fault_of(const TensorMap& written) const;

 private:
  void run(std::size_t from, std::size_t to, TensorMap& memory) const;
  void launch(const Kernel& kernel, TensorMap& memory) const;
  std::string fault_of_refusals(const TensorSpec& spec, const HostTensor& tensor) const;
  std::string fault_of_result(const TensorSpec& spec, const HostTensor& tensor) const;

  Config config_;
  Program program_;
  Numbers numbers_;
  LaunchSize size_;
  std::size_t place_;  // among the program's kernels
  TensorMap memory_;
  MutantProblem kernel_;
};

// The symbols of a configuration's kernels, but for sums over batches.
std::vector<std::string> symbols_of(const ShippedConfig& shipped);

// A kernel's text, from WKVC_KERNEL on.
std::string text_of(const ShippedConfig& shipped, const std::string& symbol);

// What a kernel is to be run on. A fault need show on one of them only.
std::vector<Numbers> numbers_for(const ShippedConfig& shipped, const std::string& symbol);

}  // namespace wkvc::test
