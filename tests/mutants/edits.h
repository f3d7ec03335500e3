// Mutants of a kernel's text, made by rules: a regular expression, each of whose matches in turn is replaced.
#pragma once

#include <string>
#include <vector>

namespace wkvc::test {

struct Rule {
  std::string name;
  std::string pattern;      // ECMAScript, over the whole text
  std::string replacement;  // with $1, $2, …
};

struct Mutant {
  std::string name;  // the rule's, and the first line that changed: "call dropped: mma_nt(O, x_shared, t);"
  std::string text;
};

std::vector<Mutant> mutants_by(const Rule& rule, const std::string& text);

// Deletes a barrier, or a wait for a slot or for copies, or what groups them.
extern const Rule kDeletedSync;

}  // namespace wkvc::test
