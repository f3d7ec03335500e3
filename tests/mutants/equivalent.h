// Mutants of shipped kernels that nobody can notice, and why.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "tests/mutants/edits.h"

namespace wkvc::test {

struct Reason {
  std::regex names;  // of mutants
  const char* reason;
  bool (*holds)(const std::string& kernel, const Mutant& mutant) = [](const std::string&, const Mutant&) {
    return true;
  };
};

extern const std::vector<Reason> kEquivalent;

bool is_for(const Reason& reason, const std::string& kernel, const Mutant& mutant);

}  // namespace wkvc::test
