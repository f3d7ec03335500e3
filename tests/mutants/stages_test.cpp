// Every stage's text is what the next one consumes, and a launch always writes the same bytes.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tests/mutants/edits.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

const LaunchSize kSize{1, 70, 2};

std::string fed_back(const std::string& text) { return lower_to(source_from(text), Stage::cuda, {}); }

// The text with every word replaced by the number of words that came before it for the first time.
std::string without_names(const std::string& text) {
  std::map<std::string, std::size_t> numbers;
  std::string numbered;
  const std::regex word("\\w+");
  for (std::sregex_iterator match(text.begin(), text.end(), word), end; match != end; ++match)
    numbered += match->prefix().str() + std::to_string(numbers.try_emplace(match->str(), numbers.size()).first->second);
  return numbered;
}

TEST(Stages, TextFedBackGivesTheSameKernel) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Source rec = source_from(rec_text(definition));
    const std::string direct = lower_to(rec, Stage::cuda, {});
    for (const Stage stage : {Stage::rec, Stage::chunk, Stage::cuda})
      EXPECT_EQ(fed_back(lower_to(rec, stage, {})), direct) << definition.name << ", stage " << static_cast<int>(stage);
    // Warp text has other names for arguments of blocks and for what one region calls like another.
    EXPECT_EQ(without_names(fed_back(lower_to(rec, Stage::warp, {}))), without_names(direct)) << definition.name;
  }
}

// What plain programs and kernels refuse is for others, without which it would not be done.
TEST(Stages, PlainTextsComeWithWhatTheyRefuse) {
  const Config config{.scales = "guarded"};
  const Source rec = source_from(rec_text(rwkv7(), config));
  const auto error = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    try {
      fed_back(text.replace(at, from.size(), to));
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  const std::string chunk = lower_to(rec, Stage::chunk, config), warp = lower_to(rec, Stage::warp, config);
  EXPECT_EQ(fed_back(chunk), lower_to(rec, Stage::cuda, config));
  EXPECT_EQ(lower_to(source_from(chunk), Stage::cuda, config), lower_to(rec, Stage::cuda, config));
  for (const auto& [text, what] : {std::pair{chunk, "a plain chunk.program"}, {warp, "a plain warp.kernel"}}) {
    const std::size_t second = text.find(text.substr(0, text.find(' ')), 20);
    EXPECT_NE(error(text, text.substr(second), "").find("whose refused one is missing"), std::string::npos);
    EXPECT_NE(error(text, text.substr(0, second), "").find(what), std::string::npos);
    EXPECT_NE(error(text, text, text.substr(second) + text.substr(0, second)).find(what), std::string::npos);
    std::string of_another = text.substr(second);
    of_another.replace(of_another.find("\"rwkv7\""), 7, "\"rwkv8\"");
    EXPECT_NE(error(text, text.substr(second), of_another).find(what), std::string::npos);
  }
}

TEST(Stages, InclusiveTrilInTheChunkTextIsWrong) {
  const std::string rec = rec_text(rwkv7());
  const std::string chunk = lower_to(source_from(rec), Stage::chunk, {});
  const std::string direct = fed_back(chunk);
  const Problem problem = random_problem(manifest_from(direct), kSize, 3);
  const auto errors_of = [&](const std::string& cuda) {
    return run_and_compare(Program::load(cuda, Target::host), rec, problem);
  };
  for (const auto& [name, error] : errors_of(direct)) EXPECT_LE(error, 1.8e-3) << name;
  const auto mutants = mutants_by({"made inclusive", "(chunk\\.tril %\\w+) strict", "$1"}, chunk);
  EXPECT_EQ(mutants.size(), 2u);
  for (const Mutant& mutant : mutants) {
    const std::string changed = fed_back(mutant.text);
    EXPECT_NE(changed, direct);
    for (const auto& [name, error] : errors_of(changed)) EXPECT_GT(error, 5e-2) << mutant.name << ", " << name;
  }
}

}  // namespace
}  // namespace wkvc::test
