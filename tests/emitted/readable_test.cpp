// Texts of shipped kernels can be read: values have names, places in shared memory are constants, and contractions
// stand below the equations that they compute.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <mutex>
#include <regex>
#include <set>
#include <sstream>

#include "tests/emitted/hashes.h"

namespace wkvc::test {
namespace {

using Faults = std::set<std::string>;

// What no text has, and why.
struct Rule {
  std::regex pattern;
  const char* reason;
};

const std::vector<Rule> kRules = {
    {std::regex(R"(\bx_shared(_\d+)?\b)"), "a buffer is called after the value in it"},
    {std::regex(R"(\bt(_\d+)?\b(?!\w))"), "a value is called after what it is"},
    {std::regex(R"(\.(floats|shared<[^>]*>|exchanged<[^>]*>|padded<[^>]*>)\(\d)"), "a place is a constant: at_x"},
    {std::regex(R"(_slabs<[^>]*>\(\d|scaled_shared<[^>]*>\(\d|staged<[^>]*>\(\d)"), "a place is a constant: at_x"},
    {std::regex(R"(memory \+ \d)"), "a place is a constant: at_x"},
};

bool is_comment(const std::string& line) { return line.find_first_not_of(' ') == line.find("//"); }

const std::regex kContraction(R"(^ *((mma_nt|accumulate|mma_same_scale)\((\w+),.*|group_mma\(.*))");
const std::regex kProduct(R"(^ *(const )?auto (\w+) = (product_nt|column_dots)\(.*)");

// The sum that a contraction of one term begins or adds to; empty for other lines.
std::string sum_of(const std::string& line) {
  std::smatch match;
  if (std::regex_match(line, match, kProduct)) return match[2];
  return std::regex_match(line, match, kContraction) ? match[3].str() : "";
}

// Whether the comment above a contraction names what it computes and the two factors of each product.
bool is_equation(const std::string& line, const std::string& sum) {
  std::smatch match;
  const std::regex equation(R"(^ *// (\w+)(\[k\])? \+?= .*\w(ᵀ|\])?·\w.*)");
  return std::regex_match(line, match, equation) && (sum.empty() || match[1] == sum);
}

Faults faults_of(const std::string& text) {
  Faults faults;
  std::istringstream lines(text);
  for (std::string above, line; std::getline(lines, line); above = line) {
    if (is_comment(line)) continue;
    for (const Rule& rule : kRules)
      if (std::regex_search(line, rule.pattern)) faults.insert(fmt::format("{}: {}", rule.reason, line));
    const std::string sum = sum_of(line);
    const bool contracts = !sum.empty() || std::regex_match(line, kContraction);
    const bool goes_on = !sum.empty() && sum == sum_of(above);
    if (contracts && !goes_on && !is_equation(above, sum)) faults.insert("no equation above: " + line);
  }
  return faults;
}

TEST(Readable, ShippedTexts) {
  std::mutex lock;
  std::size_t taken = 0;
  for_each_text(shipped_cases(), [&](const EmittedCase& of, const std::string& text) {
    const Faults faults = faults_of(text);
    const std::scoped_lock held(lock);
    ++taken;
    EXPECT_TRUE(faults.empty()) << of.name << "\n  " << fmt::format("{}", fmt::join(faults, "\n  "));
  });
  EXPECT_GT(taken, 40U);
}

TEST(Readable, FaultsAreFound) {
  const std::string equation = "  // U = M·U0\n", call = "  mma_nt(U, U0_f16, M_f16_shared);\n";
  EXPECT_TRUE(faults_of(equation + call).empty());
  EXPECT_TRUE(faults_of(equation + call + call).empty());
  EXPECT_FALSE(faults_of(call).empty());
  EXPECT_FALSE(faults_of("  // the solve\n" + call).empty());
  EXPECT_FALSE(faults_of("  // U0 = M·U0\n" + call).empty());
  EXPECT_FALSE(faults_of("  group_mma(\n      term(U, U0_f16, M_f16_shared));\n").empty());
  EXPECT_TRUE(
      faults_of("  // x[k] = Σ_v dS[v,k]·S[v,k]\n  const auto x = column_dots(dS_shared, S_shared);\n").empty());
  for (const char* line :
       {"  store(x_shared_3, dS);", "  const auto t_12 = dv * unit_;", "  const auto t = exp2(L);",
        "  float* const e_last = slot.floats(46208);", "  const Ring<f16, 16, 16, 1> a{team.memory + 0};",
        "  const auto M = block.scaled_shared<f16, 16, 16>(0, at_M_scale);"})
    EXPECT_FALSE(faults_of(line).empty()) << line;
}

}  // namespace
}  // namespace wkvc::test
