// The search on the host target, with times that the test makes up.
#include "autotune/search/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autotune/search/task.h"
#include "dsl/builtin.h"
#include "runtime/base/temporary_directory.h"

namespace wkvc {
namespace {

using ::testing::HasSubstr;

constexpr LaunchSize size{1, 64, 2};

TuningRequest request() {
  const Config config{.key_dim = 16, .value_dim = 16, .io = "f32", .mma = "f32", .chunk = 16, .blocks = 1};
  return {.source = {Stage::rec, rec_text(rwkv7(), config)}, .config = config, .alone = true, .sizes = {size}};
}

std::string edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

class TunerOnHost : public ::testing::Test {
 protected:
  Tuner::Setup setup(Tuner::Timer timer) const {
    return {.target = Target::host,
            .gpu = {},
            .timer = std::move(timer),
            .budget = std::chrono::minutes(10),
            .progress = {}};
  }

  TuningTask task{request()};
  std::vector<Trial> trials = compile_all(task.source(), task.space(), 2, [](std::size_t) { return true; });
  Validation validation = task.validation(trials.at(0));
};

TEST_F(TunerOnHost, RejectsWhatIsFastAndWrong) {
  Trial planted = trial_of(trials[0].config, edited(trials[0].text, "tril_strict(", "tril("));
  planted.config.blocks = 2;  // its name in the records
  trials.push_back(planted);
  const Tuner::Timer timer = [&](const Program& program, LaunchSize, int) {
    return program.source() == planted.text ? 0.001 : 1.0;
  };
  const auto candidates = Tuner(setup(timer), validation, task.passes(), nullptr).run(trials, task.sizes());
  ASSERT_EQ(candidates.size(), 2U);
  for (const Candidate& candidate : candidates) {
    const bool wrong = candidate.config.blocks == 2;
    EXPECT_EQ(candidate.outcome, wrong ? Outcome::rejected : Outcome::timed) << candidate.reason;
    EXPECT_EQ(candidate.ms.has_value(), !wrong);
    EXPECT_THAT(candidate.reason, HasSubstr(wrong ? "the error of " : ""));
  }
  const Candidate* const best = fastest(candidates, size);
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(best->config.blocks, 1);
  const LockEntry entry = task.entry(*best, gpu_here(Target::host, "sm_90a"), 0.5, candidates.size());
  EXPECT_EQ(entry.ms, 1.0);
  EXPECT_EQ(entry.ratio_to_copy, 2.0);
  EXPECT_EQ(entry.evidence.candidates, 2);
  EXPECT_FALSE(entry.errors.empty());
}

TEST_F(TunerOnHost, RejectsWhatWritesToItsInputs) {
  const std::string store = "store_outputs(";
  Trial planted = trial_of(trials[0].config,
                           edited(trials[0].text, store, "static_cast<f32*>(args.tensor[0].data)[0] = 7; " + store));
  const Verdict verdict =
      validation.of(planted.load(Target::host), {planted.text, Passes::forward, planted.kernels.front().manifest});
  EXPECT_THAT(verdict.fault, HasSubstr("write to the input"));
}

TEST_F(TunerOnHost, GoesOnWhereItWas) {
  const TemporaryDirectory directory;
  int timed = 0;
  const Tuner::Timer timer = [&](const Program&, LaunchSize, int) { return static_cast<double>(++timed); };
  std::vector<Candidate> first, second;
  {
    Journal journal(directory.path() / "journal", task.run_on(gpu_here(Target::host, "sm_90a")));
    first = Tuner(setup(timer), validation, task.passes(), &journal).run(trials, task.sizes());
    EXPECT_EQ(timed, 2);  // once among all, once among the best
  }
  Journal journal(directory.path() / "journal", task.run_on(gpu_here(Target::host, "sm_90a")));
  second = Tuner(setup(timer), validation, task.passes(), &journal).run(trials, task.sizes());
  EXPECT_EQ(timed, 3);  // among the best only
  EXPECT_EQ(second.front().outputs, first.front().outputs);
}

TEST_F(TunerOnHost, RanksByTheModelWithoutAGpu) {
  const auto candidates = Tuner(setup({}), validation, task.passes(), nullptr).run(trials, task.sizes());
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_EQ(candidates[0].outcome, Outcome::skipped);
  EXPECT_THAT(candidates[0].reason, HasSubstr("model"));
  EXPECT_GT(candidates[0].predicted_ms.value_or(0), 0);
  EXPECT_EQ(fastest(candidates, size), nullptr);
  EXPECT_EQ(likeliest(candidates, size), &candidates[0]);
}

TEST_F(TunerOnHost, StopsWhenTheBudgetIsOver) {
  Tuner::Setup none = setup([](const Program&, LaunchSize, int) { return 1.0; });
  none.budget = std::chrono::seconds(0);
  const auto candidates = Tuner(none, validation, task.passes(), nullptr).run(trials, task.sizes());
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_THAT(candidates[0].reason, HasSubstr("budget"));
}

TEST(Trials, SayWhyThereAreNoKernels) {
  Config config{.key_dim = 16, .value_dim = 16, .io = "f32", .mma = "f32", .sram = 1024};
  const Source source{Stage::rec, rec_text(rwkv7(), config)};
  const auto trials = compile_all(source, std::vector{config}, 1, [](std::size_t) { return true; });
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_THAT(trials[0].fault, HasSubstr("shared memory"));
  EXPECT_TRUE(trials[0].kernels.empty());
  EXPECT_TRUE(compile_all(source, std::vector{config, config}, 1, [](std::size_t) { return false; }).size() == 1);
}

TEST(Trials, GoOnAfterAFaultOfOurOwn) {
  Config config{.key_dim = 16, .value_dim = 16, .io = "f32", .mma = "f32"};
  const std::string whole = lower_to({Stage::rec, rec_text(rwkv7(), config)}, Stage::cuda, config);
  const Source broken{Stage::cuda, edited(whole, "tril_strict(", "tril_strict((")};
  const auto trials = compile_all(broken, std::vector{config, config}, 1, [](std::size_t) { return true; });
  ASSERT_EQ(trials.size(), 2U);
  for (const Trial& trial : trials) EXPECT_THAT(trial.fault, HasSubstr("a fault of wkvc, please report it: "));
}

}  // namespace
}  // namespace wkvc
