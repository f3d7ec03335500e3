// Kernels prepared while the program runs, on the host target.
#include "jit/jit.h"

#include <thread>

#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

const Config small{.key_dim = 16, .value_dim = 16, .io = "f32", .mma = "f32"};

Definition leaky() {
  return recurrence("leaky", [](Recurrence& op) {
    Dim K = op.key_dim(16), V = op.value_dim(16);
    auto [q, k] = op.inputs(K, f32, "q", "k");
    auto v = op.input("v", V, f32);
    op.compute(f32);
    auto S = op.state("S", V, K, f32);
    auto next = 0.5f * S + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, q), f32);
  });
}

TEST(Jit, HundredsOfThreadsCompileOnce) {
  std::vector<std::shared_ptr<const Operator>> found(200);
  {
    std::vector<std::jthread> threads;
    for (auto& op : found) threads.emplace_back([&op] { op = prepare("rwkv7", small, {.target = Target::host}); });
  }
  for (const auto& op : found) EXPECT_EQ(op, found.front());
  EXPECT_NE(found.front(), nullptr);
}

TEST(Jit, TellsConfigurationsApart) {
  const auto op = prepare(leaky(), small, {.target = Target::host});
  EXPECT_EQ(op, prepare(leaky(), small, {.target = Target::host}));
  EXPECT_EQ(op->manifest().key_dim, 16);
  EXPECT_FALSE(op->has(Direction::backward));
  Config other = small;
  other.pass = "backward";
  const auto training = prepare(leaky(), other, {.target = Target::host});
  EXPECT_NE(op, training);
  EXPECT_TRUE(training->has(Direction::forward));  // nobody else would save the states
  EXPECT_TRUE(training->has(Direction::backward));
}

// Both keep an operator, in memory, and a text, on disk, by the configuration.
TEST(Jit, TellsScalesApart) {
  const auto prepared = [](const char* scales) {
    return prepare(leaky(), {.mma = "f16", .scales = scales}, {.target = Target::host});
  };
  const auto always = prepared("always"), guarded = prepared("guarded");
  EXPECT_NE(always, guarded);
  EXPECT_LT(always->workspace_bytes({1, 16, 1}), guarded->workspace_bytes({1, 16, 1}));  // with what was refused
}

TEST(Jit, RefusesConfigurationsThatAreNone) {
  const auto refused = [](Config config, const std::vector<std::string>& parts) {
    expect_error([&] { prepare("rwkv7", config, {.target = Target::host}); }, parts);
  };
  for (const char* pass : {"Forward", "both ", "", "backwards"}) {
    Config config = small;
    config.pass = pass;
    refused(config, {std::string("--pass '") + pass + "'", "forward or backward or both"});
  }
  Config config = small;
  config.arch = "sm_100";
  refused(config, {"--arch 'sm_100'", "expected sm_90a"});
  config = small;
  config.blocks = -5;
  refused(config, {"--blocks -5", "1 to 32"});
  config = small;
  config.saved = "f16";
  refused(config, {"--saved is an option of the backward pass"});
  config = small;
  config.gradients = {"zz"};
  refused(config, {"--grad is an option of the backward pass"});
  config.pass = "both";
  config.saved = "f99";
  refused(config, {"--saved 'f99'"});
  expect_error([] { prepare(Source{static_cast<Stage>(9), "x"}, {}, {.target = Target::host}); }, {"stage is 9"});
}

TEST(Jit, NeedsATextWithTheBackwardPass) {
  const Source forward{Stage::cuda, lower_to({Stage::rec, rec_text(leaky(), small)}, Stage::cuda, {})};
  expect_error([&] { prepare(forward, {.pass = "both"}, {.target = Target::host}); },
               {"--pass both", "the text has no backward pass"});
}

TEST(Jit, RunsARecurrenceOfOnesOwn) {
  const auto op = prepare(leaky(), small, {.target = Target::host});
  const LaunchSize size{1, 3, 1};
  HostTensor q(DType::f32, {1, 3, 1, 16}), k = q, v = q, o = q;
  o.poison();
  for (std::size_t i = 0; i < q.size(); ++i) {
    q.set(i, i % 16 == 0);
    k.set(i, i % 16 == 0);
    v.set(i, i % 16 == 2 ? 1 : 0);
  }
  std::vector<Tensor> tensors;
  for (const TensorSpec& spec : op->tensors(Direction::forward)) {
    HostTensor* given = spec.name == "q"   ? &q
                        : spec.name == "k" ? &k
                        : spec.name == "v" ? &v
                        : spec.name == "o" ? &o
                                           : nullptr;
    tensors.push_back(given != nullptr ? given->view() : Tensor{});
  }
  op->launch(Direction::forward, tensors, size);
  const std::vector<double> expected{1, 1.5, 1.75};
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(o.get(t * 16 + i), i == 2 ? expected[t] : 0, 1e-6);
  }
}

TEST(Jit, SaysWhatIsWrong) {
  expect_error([] { prepare("rwkv8", small, {.target = Target::host}); }, {"'rwkv8'", "rwkv7"});
  Config wrong = small;
  wrong.chunk = 17;
  expect_error([&] { prepare("rwkv7", wrong, {.target = Target::host}); }, {"17"});
  expect_error([&] { prepare("rwkv7", wrong, {.target = Target::host}); }, {"17"});  // what failed is not kept
}

}  // namespace
}  // namespace wkvc
