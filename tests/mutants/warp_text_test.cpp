// The verifier misses whatever orders the warps of a kernel, and knows how long its buffers live.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>

#include "codegen/ir/Text.h"
#include "codegen/warp/Warp.h"
#include "dsl/builtin.h"
#include "dsl/registry.h"
#include "runtime/error.h"
#include "tests/expect_error.h"
#include "tests/mutants/edits.h"
#include "tests/mutants/shipped.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

Rule deleted(const std::string& op) { return {op + " deleted", R"(\n *warp\.)" + op + R"(\b[^\n]*(?=\n))", ""}; }

const std::vector<Rule> kDeletedOps = {deleted("barrier"),       deleted("acquire"),           deleted("put"),
                                       deleted("get"),           deleted("release"),           deleted("wait_copies"),
                                       deleted("commit_copies"), deleted("before_async_reads")};

// Adds the kernels of a warp text, each once, by a name of its own.
void add_kernels(const std::string& text, std::map<std::string, std::string>& kernels) {
  static const std::string kStart = "warp.kernel \"";
  for (std::size_t at = text.find(kStart); at != std::string::npos;) {
    const std::size_t next = text.find("\nwarp.", at), end = text.find("\n}\n", at) + 3;
    const std::string kernel = text.substr(at, end - at);
    const std::string symbol = kernel.substr(kStart.size(), kernel.find('"', kStart.size()) - kStart.size());
    const bool is_known = std::ranges::any_of(kernels, [&](auto& other) { return other.second == kernel; });
    if (!is_known) kernels[fmt::format("{} {}", symbol, kernels.size())] = kernel;
    at = next == std::string::npos ? next : text.find(kStart, next);
  }
}

std::string warp_text(const Definition& definition, const Config& config) {
  return lower_to({Stage::rec, rec_text(definition, config)}, Stage::warp, config);
}

// The kernels of the shipped configurations, and of others that go by chunks and by groups of them.
const std::map<std::string, std::string>& warp_kernels() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> kernels;
    for (const ShippedConfig& shipped : shipped_configs())
      add_kernels(warp_text(Registry::builtin().find(shipped.op), shipped.config), kernels);
    for (const Definition& definition : {rwkv7(), rwkv6()})
      for (const int save_every : {16, 32, 64})
        add_kernels(warp_text(definition, {.key_dim = 32, .value_dim = 32, .pass = "both", .save_every = save_every}),
                    kernels);
    return kernels;
  }();
  return all;
}

// Why the verifier refuses a text; empty if it does not.
std::string refusal_of(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  try {
    parse(text, context);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(WarpText, KernelsAreRight) {
  EXPECT_GT(warp_kernels().size(), 20u);
  for (const auto& [name, kernel] : warp_kernels()) EXPECT_EQ(refusal_of(kernel), "") << name;
}

TEST(WarpText, EveryRuleMatches) {
  for (const Rule& rule : kDeletedOps)
    EXPECT_TRUE(std::ranges::any_of(warp_kernels(), [&](auto& kernel) {
      return !mutants_by(rule, kernel.second).empty();
    })) << rule.name;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Without the barrier behind a loop over a group, or over a round that is gone through again. Where offsets keep apart
// what follows, nothing crosses there.
bool is_spare(const std::string& kernel, const Mutant& mutant) {
  const Rule rule{"", R"((\n *warp\.yield[^\n]*\n *\}(\n *warp\.(note|wait_copies)[^\n]*)*)\n *warp\.barrier(?=\n))",
                  "$1"};
  return (has(kernel, "over group ") || has(kernel, "warp.again")) &&
         std::ranges::any_of(mutants_by(rule, kernel), [&](const Mutant& spare) { return spare.text == mutant.text; });
}

TEST(WarpText, NothingThatOrdersWarpsIsMissing) {
  for (const auto& [name, kernel] : warp_kernels())
    for (const Mutant& mutant : mutants_by(kDeletedOps, kernel))
      EXPECT_TRUE(!refusal_of(mutant.text).empty() || is_spare(kernel, mutant)) << name << ": " << mutant.name;
}

// Texts in which one buffer lives for a phase less than declared.
std::vector<Mutant> shortened(const std::string& kernel) {
  static const std::regex kLive(R"((= warp\.buffer [^\n]* live (\d+) to )(\d+))");
  std::vector<Mutant> mutants;
  for (std::sregex_iterator match(kernel.begin(), kernel.end(), kLive), end; match != end; ++match) {
    const int last = std::stoi((*match)[3]) - 1;
    if (last < std::stoi((*match)[2])) continue;
    const auto at = static_cast<std::size_t>(match->position(3));
    const std::string after = kernel.substr(at + static_cast<std::size_t>(match->length(3)));
    mutants.push_back({match->str(), kernel.substr(0, at) + std::to_string(last) + after});
  }
  return mutants;
}

// Buffers that only value rows use live a phase longer than they have to where both states go through a round at once.
TEST(WarpText, DeclaredLifetimesAreThoseOfUses) {
  for (const auto& [name, kernel] : warp_kernels()) {
    if (has(kernel, " beside ") || has(kernel, "over round backward")) continue;
    for (const Mutant& mutant : shortened(kernel))
      expect_contains(refusal_of(mutant.text), "but barriers and uses make it live");
  }
}

// A buffer on top of one that is read later, whatever both are declared to live.
TEST(WarpText, MovedBuffersAreRefused) {
  const std::string text = warp_text(rwkv7(), {});
  const auto changed = [&](std::initializer_list<std::pair<std::string, std::string>> changes) {
    std::string result = text;
    for (const auto& [name, place] : changes) {
      const std::regex declaration(fmt::format(R"((%{} = warp\.\w+ )offset \d+( scale \d+)? live \d+ to \d+)", name));
      result = std::regex_replace(result, declaration, fmt::format("$1{}", place));
    }
    EXPECT_NE(result, text);
    return refusal_of(result);
  };
  // Read in phase 2, behind the barrier before which another warp would overwrite it.
  const std::string moved =
      changed({{"b_out_f16_shared", "offset 32000 live 0 to 0"}, {"scratch", "offset 32000 live 1 to 1"}});
  expect_contains(moved, "can read: line ");
  expect_contains(moved, "%b_out_f16_shared at bytes 32000 to 34176 (live 0 to 0)");
  expect_contains(moved, "%scratch at bytes 32000 to 32768 (live 1 to 1)");
  expect_contains(changed({{"e_last_shared", "offset 38752 live 0 to 0"}}),
                  "which something else has been written over");
  expect_contains(changed({{"e_last_shared", "offset 39552 live 0 to 1"}}),
                  "is declared live 0 to 1, but barriers and uses make it live 0 to 2");
}

}  // namespace
}  // namespace wkvc::test
