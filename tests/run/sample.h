// Parts of sweeps, other parts each run.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace wkvc::test {

// The seed of this process, see below.
const std::string& test_seed();

// Texts, or names of cases, that one test takes: the first one and a third of the others, all of them where
// WKVC_TEST_ALL is set. WKVC_TEST_SEED says which third; without it the process draws a seed. Both are printed once a
// process.
class Sample {
 public:
  bool holds(const std::string& text);

 private:
  std::set<std::string> seen_;
};

// So many of the numbers below `all`, drawn by WKVC_TEST_SEED, in ascending order; all of them where the variable
// `takes_all` is set.
std::vector<std::size_t> drawn(std::size_t count, std::size_t all, const char* takes_all = "WKVC_TEST_ALL");

}  // namespace wkvc::test
