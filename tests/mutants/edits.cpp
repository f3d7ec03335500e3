#include "tests/mutants/edits.h"

#include <regex>

namespace wkvc::test {

const Rule kDeletedSync{
    "sync deleted",
    R"(\n *((?:block|team)\.barrier|team\.claim|slot\.await|wait_copies<\d+>|commit_copies|if \(guard\.refuses<\d+>\(\)\) return wait_copies<0>)\(\);)",
    ""};

namespace {

// The line of `text` that position `at` is in, without what is left of its first word; newlines belong to the next.
std::string line_at(const std::string& text, std::size_t at) {
  const std::size_t last = text.find('\n', at + 1);
  const std::size_t first = text.find_first_not_of(" \n", text.rfind('\n', at));
  return text.substr(first, last - first);
}

}  // namespace

std::vector<Mutant> mutants_by(const Rule& rule, const std::string& text) {
  std::vector<Mutant> mutants;
  const std::regex pattern(rule.pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    const auto at = static_cast<std::size_t>(match->position());
    const std::string after = text.substr(at + static_cast<std::size_t>(match->length()));
    mutants.push_back(
        {rule.name + ": " + line_at(text, at), text.substr(0, at) + match->format(rule.replacement) + after});
  }
  return mutants;
}

}  // namespace wkvc::test
