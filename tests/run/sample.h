// A part of a sweep's texts, another part each run.
#pragma once

#include <set>
#include <string>

namespace wkvc::test {

// The seed of this process, see below.
const std::string& test_seed();

// Texts that one test compiles and runs: the first one and a third of the others, all of them where WKVC_TEST_ALL is
// set. WKVC_TEST_SEED says which third; without it the process draws a seed. Both are printed once a process.
class Sample {
 public:
  bool holds(const std::string& text);

 private:
  std::set<std::string> seen_;
};

}  // namespace wkvc::test
