// Kernels of single tokens (--chunk 1) against the float64 recurrence: exact in f32, causal to the byte, and no token
// costs another one digits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tests/lower/recurrences.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

constexpr int kHeads = 2;

Config single_tokens(const std::string& io = "") {
  Config config;
  config.chunk = 1;
  config.io = io;
  return config;
}

// Elements of a token in a tensor [1,T,H,D] or [1,T,H], all heads together.
std::size_t per_token(const std::vector<double>& values, std::int64_t tokens) {
  return values.size() / static_cast<std::size_t>(tokens);
}

class Token : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  Program load(const Definition& definition, const Config& config) const {
    return Program::load(cuda_text(definition, config), GetParam());
  }
};

TEST_P(Token, EveryRecurrence) {
  Config config = single_tokens("f32");
  config.mma = "f32";
  std::vector<Definition> all = recurrences();
  for (const Definition& builtin : {rwkv7(), rwkv7_logw(), rwkv6()}) all.push_back(builtin);
  for (const Definition& definition : all) {
    const std::string rec = rec_text(definition, config);
    if (rec.find("@products_of_inputs ") != std::string::npos) continue;  // sums over values: SumsOverValuesAreRefused
    const Program program = load(definition, config);
    SCOPED_TRACE(program.manifest().op);
    for (std::int64_t tokens : {1, 18}) {
      const Problem problem = random_problem(program.manifest(), rec, {2, tokens, kHeads}, 7);
      for (const auto& [name, error] : run_and_compare(program, rec, problem))
        EXPECT_LE(error, bound_of(config, Role::output)) << "T " << tokens << ": " << name;
    }
  }
}

TEST_P(Token, HeadsAndStorage) {
  for (const char* io : {"bf16", "f16", "f32"}) {
    for (const auto& [key_dim, value_dim] : {std::pair{16, 48}, {128, 64}, {256, 256}}) {
      Config config = single_tokens(io);
      config.key_dim = key_dim;
      config.value_dim = value_dim;
      config.mma = "f32";
      const Program program = load(rwkv7(), config);
      const Problem problem = random_problem(program.manifest(), {1, 9, kHeads}, 3);
      for (const auto& [name, error] : run_and_compare(program, rec_text(rwkv7(), config), problem))
        EXPECT_LE(error, bound_of(config, Role::output)) << io << " " << key_dim << "x" << value_dim << ": " << name;
    }
  }
}

// Whatever a token and those behind it hold, results before it keep their bytes.
TEST_P(Token, ResultsDependOnNothingBehind) {
  constexpr std::int64_t tokens = 21;
  const double largest = std::numeric_limits<float>::max(), infinite = std::numeric_limits<double>::infinity();
  const std::vector<double> poisons{std::nan(""), infinite, -infinite, 1e30, largest};
  std::random_device entropy;
  const unsigned seed = entropy();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Program program = load(definition, single_tokens("f32"));
    const Problem clean = random_problem(program.manifest(), {1, tokens, kHeads}, random());
    const auto expected = run_raw(program, clean).at("o");
    for (const TensorSpec& spec : program.manifest().tensors) {
      if (spec.role != Role::input) continue;
      Problem poisoned = clean;
      auto& values = poisoned.values.at(spec.name);
      const auto from = static_cast<std::size_t>(random() % tokens);
      const std::size_t step = per_token(values, tokens);
      for (std::size_t i = from * step; i < values.size(); ++i) values[i] = poisons[random() % poisons.size()];
      const auto found = run_raw(program, poisoned).at("o");
      const std::size_t bytes_before =
          from * kHeads * static_cast<std::size_t>(program.manifest().value_dim) * sizeof(float);
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), bytes_before), 0)
          << program.manifest().op << ": " << spec.name << " from token " << from;
    }
  }
}

// A token a million times as large as its neighbours costs none of them digits.
TEST_P(Token, OutliersKeepToThemselves) {
  constexpr std::int64_t tokens = 32, outlier = 20;
  const std::string rec = rec_text(rwkv7(), single_tokens("f32"));
  const Program program = load(rwkv7(), single_tokens("f32"));
  for (const char* name : {"r", "k", "v"}) {
    Problem problem = random_problem(program.manifest(), {1, tokens, kHeads}, 5);
    auto& values = problem.values.at(name);
    const std::size_t step = per_token(values, tokens);
    for (std::size_t i = outlier * step; i < (outlier + 1) * step; ++i) values[i] *= 1e6;
    const Values given = rounded(program.manifest(), problem);
    const std::vector<double> expected = reference_of(program.manifest(), rec, problem.size, given).at("o");
    const auto bytes = run_raw(program, problem).at("o");
    std::vector<float> found(expected.size());
    std::memcpy(found.data(), bytes.data(), found.size() * sizeof(float));  // behind are tokens past the tail
    const std::size_t row = expected.size() / (tokens * kHeads);
    for (std::size_t i = 0; i < found.size(); i += row)
      EXPECT_LE(relative_error({found.begin() + i, found.begin() + i + row},
                               {expected.begin() + i, expected.begin() + i + row}),
                4 * 1e-5)
          << name << ": token " << i / row / kHeads << ", head " << i / row % kHeads;
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Token, testing::Values(Target::host));
INSTANTIATE_TEST_SUITE_P(Cuda, Token, testing::Values(Target::cuda));

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(TokenOptions, OfChunksAreRefused) {
  Config both = single_tokens(), teams = single_tokens();
  both.pass = "both";
  teams.teams = 2;
  EXPECT_NE(refusal([&] { cuda_text(rwkv7(), both); }).find("no backward pass"), std::string::npos);
  EXPECT_NE(refusal([&] { cuda_text(rwkv7(), teams); }).find("--chunk 1 with --teams"), std::string::npos);
  const Source source{Stage::rec, rec_text(rwkv7(), single_tokens())};
  EXPECT_NE(refusal([&] { lower_to(source, Stage::chunk, single_tokens()); }).find("without 'chunk'"),
            std::string::npos);
  EXPECT_NE(refusal([&] { dump_after(source, "slice", single_tokens()); }).find("without 'slice'"), std::string::npos);
}

// Of kernels of chunks, too.
TEST(Headers, NameEveryDtypeOfOutputs) {
  const Definition definition = recurrence("two_outputs", [](Recurrence& op) {
    Dim K = op.key_dim(16), V = op.value_dim(16);
    auto k = op.input("k", K, bf16);
    auto v = op.input("v", V, bf16);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    auto next = S + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, k), bf16);
    op.output("before", dot(S, k), f32);
  });
  for (const int chunk : {1, 16}) {
    Config config;
    config.chunk = chunk;
    const std::string text = cuda_text(definition, config);
    EXPECT_NE(manifest_from(text).config.find(" io bf16,f32 mma "), std::string::npos) << text.substr(0, 400);
  }
}

TEST(TokenOptions, SumsOverValuesAreRefused) {
  const Definition definition = recurrence("norm", [](Recurrence& op) {
    Dim K = op.key_dim(16), V = op.value_dim(16);
    auto k = op.input("k", K, f32);
    auto v = op.input("v", V, f32);
    op.compute(f32);
    auto S = op.state("S", V, K, f32);
    op.update(S, S + outer(v, k));
    op.output("o", dot(v, v) * dot(S, k), f32);
  });
  const std::string message = refusal([&] { cuda_text(definition, single_tokens()); });
  EXPECT_NE(message.find("dot of two V vectors"), std::string::npos) << message;
}

}  // namespace
}  // namespace wkvc::test
