// Chunked kernels in f32 are causal to the byte: results depend on no later token, gradients on no earlier incoming
// gradient, whatever these hold. And no token costs another one digits. Kernels with operands of 16 bits keep their
// bounds where later tokens, or earlier incoming gradients, are not finite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <regex>
#include <set>

#include "dsl/builtin.h"
#include "tests/lower/recurrences.h"
#include "tests/run/dtypes.h"
#include "tests/run/run.h"
#include "tests/run/sample.h"

namespace wkvc::test {
namespace {

using Bytes = std::map<std::string, std::vector<std::byte>>;

constexpr std::int64_t kHeads = 2;

Config config_of(int key_dim, int value_dim, const std::string& io = "f32", const std::string& mma = "f32") {
  return config_of_pass("both", mma, io, key_dim, value_dim);
}

std::vector<TensorSpec> of_role(const Manifest& manifest, Role role) {
  std::vector<TensorSpec> specs;
  std::ranges::copy_if(manifest.tensors, std::back_inserter(specs),
                       [&](const auto& spec) { return spec.role == role; });
  return specs;
}

// Elements that one head has at one token.
std::size_t row_size(const Manifest& manifest, const TensorSpec& spec) {
  return static_cast<std::size_t>(element_count(shape_of(spec, manifest, {1, 1, 1})));
}

// Says that a token's row of a head is to be the same.
using Part = std::function<bool(std::int64_t token, std::int64_t head)>;

// One program, and runs of it on problems of one batch.
class Subject {
 public:
  Subject(const std::string& text, const std::string& rec, Target target)
      : rec_(rec), program_(Program::load(text, target)) {}

  const Manifest& manifest() const { return program_.manifest(); }
  Problem problem(std::int64_t tokens, unsigned seed) const {
    return random_problem(manifest(), rec_, {1, tokens, kHeads}, seed);
  }
  Bytes run(const Problem& problem) const { return run_raw(program_, problem); }
  TensorMap run_in_memory(const Problem& problem) const { return test::run_in_memory(program_, problem); }
  Values reference(const Problem& problem, const Values& given) const {
    return reference_of(manifest(), rec_, problem.size, given);
  }

  // The first row in that part of the results of a role that differs, or nothing.
  std::string difference(Role role, std::int64_t tokens, const Bytes& found, const Bytes& expected,
                         const Part& part) const {
    for (const TensorSpec& spec : of_role(manifest(), role)) {
      const std::size_t row = row_size(manifest(), spec) * size_of(spec.dtype);
      for (std::int64_t i = 0; i < tokens * kHeads; ++i) {
        const std::size_t at = static_cast<std::size_t>(i) * row;
        if (part(i / kHeads, i % kHeads) &&
            std::memcmp(found.at(spec.name).data() + at, expected.at(spec.name).data() + at, row) != 0)
          return spec.name + " of token " + std::to_string(i / kHeads) + ", head " + std::to_string(i % kHeads);
      }
    }
    return "";
  }

 private:
  std::string rec_;
  Program program_;
};

// A relative change of each value by up to half a unit in the last place of f32.
Values in_last_place(Values values, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> error(-0x1p-24, 0x1p-24);
  for (auto& [name, all] : values)
    for (double& value : all) value *= 1 + error(random);
  return values;
}

std::vector<double> row_of(const std::vector<double>& values, std::size_t row, std::size_t size) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(row * size);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

double largest(const Values& values) {
  double most = 0;
  for (const auto& [name, all] : values)
    for (const double value : all) most = std::max(most, std::abs(value));
  return most;
}

bool all(std::int64_t, std::int64_t) { return true; }

// Each token's row of each head within four times the bound, or as exact as inputs in f32 let that row be: in a part of
// the results of these roles.
struct Rows {
  std::string what;
  std::vector<Role> roles = {Role::output, Role::input_gradient};
  Part part = all;
  std::set<std::string> excepted = {};
};

// `run`: the problem that is run, which has the same results there.
void expect_rows_within(const Subject& at, const Config& config, const Problem& problem, const Problem& run,
                        const Rows& rows) {
  const Values given = rounded(at.manifest(), problem), reference = at.reference(problem, given);
  if (largest(reference) > 1e30) return;  // parameters that were drawn let the state grow out of f32
  std::vector<Values> others;             // several, as a row of one number may change little by chance
  for (unsigned seed = 1; seed <= 4; ++seed) others.push_back(at.reference(problem, in_last_place(given, seed)));
  const TensorMap memory = at.run_in_memory(run);
  for (const Role role : rows.roles)
    for (const TensorSpec& spec : of_role(at.manifest(), role)) {
      if (rows.excepted.contains(spec.name)) continue;
      const std::size_t size = row_size(at.manifest(), spec);
      std::vector<double> found(reference.at(spec.name).size());
      for (std::size_t i = 0; i < found.size(); ++i) found[i] = memory.at(spec.name).get(i);
      for (std::size_t row = 0; row < found.size() / size; ++row) {
        if (!rows.part(static_cast<std::int64_t>(row) / kHeads, static_cast<std::int64_t>(row) % kHeads)) continue;
        const std::vector<double> expected = row_of(reference.at(spec.name), row, size);
        double conditioned = 0;
        for (const Values& other : others)
          conditioned = std::max(conditioned, relative_error(row_of(other.at(spec.name), row, size), expected));
        EXPECT_LE(relative_error(row_of(found, row, size), expected),
                  std::max(4 * bound_of(config, role), 32 * conditioned))
            << at.manifest().op << ", " << at.manifest().config << rows.what << ": " << spec.name << " of token "
            << row / kHeads << ", head " << row % kHeads << ", WKVC_TEST_SEED=" << test_seed();
      }
    }
}

// Values that are not finite, or huge if these are asked for, too, for the first head: in one element of a token, in
// all of them, or in all of those of tokens on one side, too.
class Poison {
 public:
  explicit Poison(std::mt19937& random, bool huge = true) : random_(random), huge_(huge) {}

  void write(std::vector<double>& values, std::int64_t tokens, std::int64_t token, bool behind) {
    const std::size_t row = values.size() / static_cast<std::size_t>(tokens * kHeads);
    const unsigned kind = random_() % 3;
    for (std::int64_t t = 0; t < tokens; ++t) {
      if (kind < 2 ? t != token : behind ? t < token : t > token) continue;
      const std::size_t first = static_cast<std::size_t>(t * kHeads) * row;
      const std::size_t only = random_() % row;
      for (std::size_t i = 0; i < row; ++i)
        if (kind > 0 || i == only) values[first + i] = value();
    }
  }

 private:
  double value() {
    const double infinite = std::numeric_limits<double>::infinity(), largest = std::numeric_limits<float>::max();
    const double values[] = {std::nan(""), infinite, -infinite, 1e30, -1e30, largest, -largest};
    return values[random_() % (huge_ ? std::size(values) : 3)];
  }

  std::mt19937& random_;
  bool huge_;
};

// Decays above 1, too.
Definition growing() {
  return recurrence("growing", [](Recurrence& op) {
    Dim K = op.key_dim(16), V = op.value_dim(16);
    op.compute(f16);
    auto [r, w, k] = op.inputs(K, f32, "r", "w", "k");
    auto v = op.input("v", V, f32);
    auto S = op.state("S", V, K, f32);
    auto next = S * diag(exp(sigmoid(w) - 0.5f)) + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, r), f32);
  });
}

class Causality : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  std::int64_t below(std::int64_t count) { return static_cast<std::int64_t>(random_() % static_cast<unsigned>(count)); }

  // Returns the first row before a token that changes when inputs do from there on; or a row of the other head.
  std::string difference_of_results(const Subject& at, const Problem& clean, const Bytes& expected) {
    const std::int64_t tokens = clean.size.tokens;
    for (const TensorSpec& input : of_role(at.manifest(), Role::input)) {
      Problem problem = clean;
      const std::int64_t from = below(tokens);
      Poison(random_).write(problem.values.at(input.name), tokens, from, /*behind=*/true);
      const Bytes found = at.run(problem);
      std::string difference = at.difference(Role::output, tokens, found, expected,
                                             [&](auto token, auto head) { return token < from || head == 1; });
      if (difference.empty())
        difference =
            at.difference(Role::input_gradient, tokens, found, expected, [](auto, auto head) { return head == 1; });
      if (!difference.empty()) return difference + " by " + input.name + " from token " + std::to_string(from);
    }
    return "";
  }

  // Returns the first gradient behind a token that changes when incoming ones do up to there; or one of the other head.
  std::string difference_of_gradients(const Subject& at, const Problem& clean, const Bytes& expected) {
    const std::int64_t tokens = clean.size.tokens;
    for (const TensorSpec& incoming : of_role(at.manifest(), Role::output_gradient)) {
      Problem problem = clean;
      const std::int64_t to = below(tokens);
      Poison(random_).write(problem.values.at(incoming.name), tokens, to, /*behind=*/false);
      const std::string difference = at.difference(Role::input_gradient, tokens, at.run(problem), expected,
                                                   [&](auto token, auto head) { return token > to || head == 1; });
      if (!difference.empty()) return difference + " by " + incoming.name + " up to token " + std::to_string(to);
    }
    return "";
  }

  // Returns the first difference that several problems show; nothing where the kernels are causal.
  std::string difference(const Subject& at, const Config& config) {
    for (int i = 0; i < 4; ++i) {
      const std::int64_t tokens = 1 + below(70);
      const Problem clean = at.problem(tokens, random_());
      if (i == 0) expect_rows_within(at, config, clean, clean, {});
      const Bytes expected = at.run(clean);
      std::string found = difference_of_results(at, clean, expected);
      for (int j = 0; j < 4 && found.empty(); ++j) found = difference_of_gradients(at, clean, expected);
      if (!found.empty()) return found + ", T " + std::to_string(tokens);
    }
    return "";
  }

  void check(const Definition& definition, const Config& config) {
    const std::string text = cuda_text(definition, config);
    if (!sample_.holds(text)) return;
    const Subject at(text, rec_text(definition, config), GetParam());
    EXPECT_EQ(difference(at, config), "")
        << definition.name << ", " << at.manifest().config << ", WKVC_TEST_SEED=" << test_seed();
  }

  // Rows before a token keep their bounds, whatever an input holds from there on, and the other head does.
  void expect_earlier_rows(const Subject& at, const Config& config, const Problem& clean, const TensorSpec& input) {
    Problem problem = clean;
    const std::int64_t from = below(clean.size.tokens);
    Poison(random_, /*huge=*/false).write(problem.values.at(input.name), clean.size.tokens, from, /*behind=*/true);
    expect_rows_within(at, config, clean, problem,
                       {.what = ", " + input.name + " from token " + std::to_string(from) + " on",
                        .roles = {Role::output},
                        .part = [=](auto token, auto head) { return token < from || head == 1; }});
  }

  // Gradients behind a token keep theirs.
  void expect_later_gradients(const Subject& at, const Config& config, const Problem& clean,
                              const TensorSpec& incoming) {
    Problem problem = clean;
    const std::int64_t to = below(clean.size.tokens);
    Poison(random_, /*huge=*/false).write(problem.values.at(incoming.name), clean.size.tokens, to, /*behind=*/false);
    expect_rows_within(at, config, clean, problem,
                       {.what = ", " + incoming.name + " up to token " + std::to_string(to),
                        .roles = {Role::input_gradient},
                        .part = [=](auto token, auto head) { return token > to || head == 1; }});
  }

  void check_16_bits(const Definition& definition, const Config& config) {
    const std::string text = cuda_text(definition, config);
    if (!sample_.holds(text)) return;
    const Subject at(text, rec_text(definition, config), GetParam());
    for (int i = 0; i < 2; ++i) {
      const Problem clean = at.problem(1 + below(70), random_());
      for (const TensorSpec& input : of_role(at.manifest(), Role::input)) expect_earlier_rows(at, config, clean, input);
      for (const TensorSpec& incoming : of_role(at.manifest(), Role::output_gradient))
        expect_later_gradients(at, config, clean, incoming);
    }
  }

  Sample sample_;
  std::mt19937 random_{static_cast<unsigned>(std::hash<std::string>()(test_seed()))};
};

TEST_P(Causality, OfEveryRecurrence) {
  for (const Definition& definition : recurrences()) check(definition, config_of(16, 16));
}

TEST_P(Causality, OfEverySchedule) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config = config_of(32, 32);
    config.segments = 3;
    config.backward_segments = 2;
    check(definition, config);
    config.segments = config.backward_segments = 0;
    config.teams = 2;
    config.backward_teams = 1;
    check(definition, config);
    config.rounds = 2;
    check(definition, config);
    config.cluster = 2;
    check(definition, config);
    Config blocks = config_of(16, 48);  // triangular matrices of several blocks
    blocks.chunk = 32;
    check(definition, blocks);
  }
  check(rwkv7(), config_of(48, 32, "bf16"));
  check(growing(), config_of(16, 16));
}

// Where decays are anchored at a number, and a guard finds nothing to refuse, to the byte.
TEST_P(Causality, FiniteTokensWithoutScales) {
  for (const std::string mma : {"f16", "bf16"})
    for (const auto& [teams, cluster] : {std::pair{1, 1}, {2, 1}, {2, 2}}) {
      Config config = config_of(32, 32, "bf16", mma);
      config.pass = "forward";
      config.scales = "guarded";
      config.teams = config.rounds = teams;
      config.cluster = cluster;
      const Subject at(cuda_text(rwkv7(), config), rec_text(rwkv7(), config), GetParam());
      const Problem clean = at.problem(40, random_());
      const Bytes expected = at.run(clean);
      for (const std::int64_t from : {5, 20, 39}) {
        Problem problem = clean;
        const Problem other = at.problem(40, random_());
        for (const TensorSpec& input : of_role(at.manifest(), Role::input)) {
          auto& values = problem.values.at(input.name);
          const auto first = static_cast<std::ptrdiff_t>(from * (static_cast<std::int64_t>(values.size()) / 40));
          std::copy(other.values.at(input.name).begin() + first, other.values.at(input.name).end(),
                    values.begin() + first);
        }
        const Bytes found = at.run(problem);
        const auto earlier = [=](auto token, auto) { return token < from; };
        EXPECT_EQ(at.difference(Role::output, 40, found, expected, earlier), "") << at.manifest().config;
        EXPECT_NE(at.difference(Role::output, 40, found, expected, all), "");
      }
    }
}

TEST_P(Causality, NotFiniteIn16Bits) {
  for (const Definition& definition : {rwkv7(), rwkv7_logw(), rwkv6()})
    for (const std::string mma : {"f16", "bf16"})
      for (const std::string scales : {"always", "guarded"}) {
        Config config = config_of(32, 32, "bf16", mma);
        config.scales = config.backward_scales = scales;
        check_16_bits(definition, config);
        config.segments = config.backward_segments = 2;
        config.teams = config.backward_teams = 2;
        check_16_bits(definition, config);
        config.rounds = 2;
        check_16_bits(definition, config);
        if (scales == "always") continue;  // kernels of clusters with scales multiply masked pairs
        config.cluster = 2;
        check_16_bits(definition, config);
      }
}

// Contractions whose masked pairs are multiplied, too.
TEST_P(Causality, NoTriangleIsIdle) {
  const Config config = config_of(32, 32);
  const std::string text = cuda_text(rwkv7(), config), rec = rec_text(rwkv7(), config);
  for (const auto& [triangle, from, role] :
       {std::tuple{"lower", 20, Role::output}, std::tuple{"upper", 27, Role::input_gradient}}) {
    const std::regex operand(std::string("\\b") + triangle + R"(\((\w+|trans\(\w+\))\))");
    const std::string whole = std::regex_replace(text, operand, "$1");
    ASSERT_NE(whole, text) << triangle;
    const bool is_output = role == Role::output;
    const auto difference = [&, from = from, role = role](const Subject& at) {
      Problem problem = at.problem(32, 3);
      const Bytes expected = at.run(problem);
      auto& values = problem.values.at(is_output ? "v" : "do");
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(from * kHeads * 32), 32, std::nan(""));
      return at.difference(role, 32, at.run(problem), expected,
                           [&](auto token, auto) { return is_output ? token < from : token > from; });
    };
    EXPECT_EQ(difference(Subject(text, rec, GetParam())), "") << triangle;
    EXPECT_NE(difference(Subject(whole, rec, GetParam())), "") << triangle;
  }
}

// A token a million times as large as its neighbours costs none of them digits.
TEST_P(Causality, OutliersKeepToThemselves) {
  constexpr std::int64_t tokens = 32, outlier = 20;
  for (const Definition& definition : {rwkv7(), rwkv7_logw(), rwkv6()}) {
    const Config config = config_of(32, 32);
    const Subject at(cuda_text(definition, config), rec_text(definition, config), GetParam());
    for (const TensorSpec& input : of_role(at.manifest(), Role::input)) {
      if (input.name == "w") continue;
      Problem problem = at.problem(tokens, 5);
      auto& values = problem.values.at(input.name);
      const std::size_t step = values.size() / tokens;
      for (std::size_t i = outlier * step; i < (outlier + 1) * step; ++i) values[i] *= 1e6;
      // Where decays have a range, their gradients are differences of totals (docs/architecture.md, Gradients).
      const bool cancels = definition.name == "rwkv7";
      expect_rows_within(at, config, problem, problem,
                         {.what = ", " + input.name + " times 1e6",
                          .excepted = cancels ? std::set<std::string>{"dw"} : std::set<std::string>()});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Causality, testing::Values(Target::host));
INSTANTIATE_TEST_SUITE_P(Cuda, Causality, testing::Values(Target::cuda));

}  // namespace
}  // namespace wkvc::test
