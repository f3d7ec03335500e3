#include "tests/mutants/edits.h"

#include <regex>

namespace wkvc::test {

namespace {

Rule deleted(const std::string& call) { return {call + " deleted", R"(\n *)" + call + R"(\([^\n]*\);(?=\n))", ""}; }

}  // namespace

const std::vector<Rule> kDeletedSync = {
    deleted(R"(block\.barrier)"),
    deleted(R"(team\.barrier)"),
    {"guard's barrier deleted", R"(\n *if \(guard\.refuses_so_far<\d+>\(\)\) return [^\n]*;)", ""},
    deleted("begin_slots<Slots>"),
    deleted(R"(team\.claim)"),
    deleted(R"(team\.publish)"),
    deleted(R"(slot\.await)"),
    deleted(R"(slot\.release)"),
    deleted(R"(wait_copies<\d+>)"),
    deleted("commit_copies"),
    deleted(R"(block\.cluster_barrier)"),
};

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

std::vector<Mutant> mutants_by(const std::vector<Rule>& rules, const std::string& text) {
  std::vector<Mutant> mutants;
  for (const Rule& rule : rules)
    for (Mutant& mutant : mutants_by(rule, text)) mutants.push_back(std::move(mutant));
  return mutants;
}

}  // namespace wkvc::test
