// Chunked kernels in f32 are causal to the byte: results depend on no later token, gradients on no earlier incoming
// gradient, whatever these hold. And no token costs another one digits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "dsl/builtin.h"
#include "tests/lower/recurrences.h"
#include "tests/run/run.h"
#include "tests/run/sample.h"

namespace wkvc::test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kMostTokens = 70;

Config config_of(int key_dim, int value_dim) {
  Config config;
  config.pass = "both";
  config.mma = config.io = "f32";
  config.key_dim = key_dim;
  config.value_dim = value_dim;
  return config;
}

// Part of the bytes of a tensor [1,T,H,D] or [1,T,H]: what one head has at one token.
std::vector<float> row_of(const std::vector<std::byte>& bytes, std::int64_t tokens, std::int64_t token,
                          std::int64_t head, std::size_t width) {
  const std::size_t at = static_cast<std::size_t>(token * kHeads + head) * width * sizeof(float);
  EXPECT_LE(static_cast<std::size_t>(tokens * kHeads) * width * sizeof(float), bytes.size());
  std::vector<float> row(width);
  std::memcpy(row.data(), bytes.data() + at, width * sizeof(float));
  return row;
}

// One program, and the problems that it is given.
class Subject {
 public:
  Subject(const Definition& definition, const Config& config, Target target)
      : rec_(rec_text(definition, config)), program_(Program::load(cuda_text(definition, config), target)) {}

  const Manifest& manifest() const { return program_.manifest(); }
  std::string name() const { return manifest().op + ", " + manifest().config; }

  Problem problem(std::int64_t tokens, unsigned seed) const {
    return random_problem(manifest(), rec_, {1, tokens, kHeads}, seed);
  }
  std::map<std::string, std::vector<std::byte>> run(const Problem& problem) const { return run_raw(program_, problem); }
  Values reference(const Problem& problem) const {
    return reference_of(manifest(), rec_, problem.size, rounded(manifest(), problem));
  }
  // Tensors with a row for each token and head.
  std::vector<TensorSpec> of_role(Role role) const {
    std::vector<TensorSpec> specs;
    for (const TensorSpec& spec : manifest().tensors)
      if (spec.role == role) specs.push_back(spec);
    return specs;
  }
  std::size_t width(const TensorSpec& spec) const {
    return static_cast<std::size_t>(element_count(shape_of(spec, manifest(), {1, 1, 1})));
  }

 private:
  std::string rec_;
  Program program_;
};

// Writes a value that is not finite, or huge, to one element, one row or a half of the sequence; of the first head.
class Poison {
 public:
  explicit Poison(std::mt19937& random) : random_(random) {}

  // From token `from` on, or up to it.
  void write(std::vector<double>& values, std::int64_t tokens, std::int64_t token, bool behind) {
    const std::size_t row = values.size() / static_cast<std::size_t>(tokens * kHeads);
    const unsigned kind = random_() % 3;
    for (std::int64_t t = 0; t < tokens; ++t) {
      if (kind < 2 ? t != token : behind ? t < token : t > token) continue;
      const std::size_t first = static_cast<std::size_t>(t * kHeads) * row;
      if (kind == 0)
        values[first + random_() % row] = value();
      else
        for (std::size_t i = 0; i < row; ++i) values[first + i] = value();
    }
  }

 private:
  double value() {
    const double infinite = std::numeric_limits<double>::infinity(), largest = std::numeric_limits<float>::max();
    const double values[] = {std::nan(""), infinite, -infinite, 1e30, -1e30, largest, -largest};
    return values[random_() % std::size(values)];
  }

  std::mt19937& random_;
};

class Causality : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  using Part = std::function<bool(std::int64_t token, std::int64_t head)>;
  using Bytes = std::map<std::string, std::vector<std::byte>>;

  static void expect_same(const Subject& at, const TensorSpec& spec, std::int64_t tokens, const Bytes& found,
                          const Bytes& expected, const Part& part) {
    const std::size_t width = at.width(spec);
    for (std::int64_t token = 0; token < tokens; ++token)
      for (std::int64_t head = 0; head < kHeads; ++head) {
        if (!part(token, head)) continue;
        const auto a = row_of(found.at(spec.name), tokens, token, head, width);
        const auto b = row_of(expected.at(spec.name), tokens, token, head, width);
        ASSERT_EQ(std::memcmp(a.data(), b.data(), width * sizeof(float)), 0)
            << spec.name << " of token " << token << ", head " << head << ", T " << tokens << ": " << a[0]
            << " instead of " << b[0];
      }
  }

  void check_results(const Subject& at, const Problem& clean, const Bytes& expected) {
    const std::int64_t tokens = clean.size.tokens;
    for (const TensorSpec& input : at.of_role(Role::input)) {
      Problem problem = clean;
      const auto from = static_cast<std::int64_t>(random_() % static_cast<unsigned>(tokens));
      Poison(random_).write(problem.values.at(input.name), tokens, from, /*behind=*/true);
      SCOPED_TRACE(input.name + " from token " + std::to_string(from));
      const Bytes found = at.run(problem);
      for (const TensorSpec& output : at.of_role(Role::output))
        expect_same(at, output, tokens, found, expected,
                    [&](std::int64_t token, std::int64_t head) { return token < from || head == 1; });
      for (const TensorSpec& gradient : at.of_role(Role::input_gradient))
        expect_same(at, gradient, tokens, found, expected, [](std::int64_t, std::int64_t head) { return head == 1; });
    }
  }

  void check_gradients(const Subject& at, const Problem& clean, const Bytes& expected) {
    const std::int64_t tokens = clean.size.tokens;
    for (const TensorSpec& incoming : at.of_role(Role::output_gradient)) {
      Problem problem = clean;
      const auto to = static_cast<std::int64_t>(random_() % static_cast<unsigned>(tokens));
      Poison(random_).write(problem.values.at(incoming.name), tokens, to, /*behind=*/false);
      SCOPED_TRACE(incoming.name + " up to token " + std::to_string(to));
      const Bytes found = at.run(problem);
      for (const TensorSpec& gradient : at.of_role(Role::input_gradient))
        expect_same(at, gradient, tokens, found, expected,
                    [&](std::int64_t token, std::int64_t head) { return token > to || head == 1; });
      for (const TensorSpec& output : at.of_role(Role::output))
        expect_same(at, output, tokens, found, expected, [](std::int64_t, std::int64_t) { return true; });
    }
  }

  void check(const Definition& definition, const Config& config) {
    const Subject at(definition, config, GetParam());
    SCOPED_TRACE(at.name() + ", WKVC_TEST_SEED=" + test_seed());
    for (int i = 0; i < kProblems && !HasFailure(); ++i) {
      const Problem clean = at.problem(1 + static_cast<std::int64_t>(random_() % kMostTokens), random_());
      const Bytes expected = at.run(clean);
      check_results(at, clean, expected);
      for (int j = 0; j < kProblems; ++j) check_gradients(at, clean, expected);
    }
  }

  static constexpr int kProblems = 4;
  Sample sample_;
  std::mt19937 random_{static_cast<unsigned>(std::hash<std::string>()(test_seed()))};
};

TEST_P(Causality, OfEveryRecurrence) {
  for (const Definition& definition : recurrences()) check(definition, config_of(16, 16));
}

TEST_P(Causality, OfEverySchedule) {
  Config config = config_of(32, 32);
  check(rwkv7(), config);
  config.segments = 3;
  config.backward_segments = 2;
  check(rwkv7(), config);
  config.segments = config.backward_segments = 0;
  config.teams = config.backward_teams = 2;
  check(rwkv7(), config);
  config.rounds = 2;
  check(rwkv7(), config);
  config.cluster = 2;
  check(rwkv7(), config);
  Config wide = config_of(32, 48);
  wide.chunk = 32;
  check(rwkv7(), wide);
}

INSTANTIATE_TEST_SUITE_P(Host, Causality, testing::Values(Target::host));
INSTANTIATE_TEST_SUITE_P(Cuda, Causality, testing::Values(Target::cuda));

}  // namespace
}  // namespace wkvc::test
