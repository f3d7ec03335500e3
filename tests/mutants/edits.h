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
  std::string name;  // the rule's, and the first line that changed: "call dropped: mma_nt(O, v_f16, RK_f16_shared);"
  std::string text;
};

std::vector<Mutant> mutants_by(const Rule& rule, const std::string& text);

// Where several mutants have one name, as blocks beside each other have the same lines: the second ends with " #2".
std::vector<Mutant> mutants_by(const std::vector<Rule>& rules, const std::string& text);

// Each makes another kind of mistake in what a kernel computes.
extern const std::vector<Rule> kEdits;

// Each deletes one kind of what orders warps: barriers, those of a guard, what hands slots over, copies' groups and
// waits.
extern const std::vector<Rule> kDeletedSync;

}  // namespace wkvc::test
