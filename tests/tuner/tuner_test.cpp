// The search on the host target, with times that the test makes up.
#include "autotune/search/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "autotune/lockfile/config_json.h"
#include "autotune/search/task.h"
#include "dsl/builtin.h"
#include "runtime/base/files.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

using std::chrono::minutes;
using ::testing::HasSubstr;

constexpr LaunchSize size{1, 64, 2};

// A head and a chunk that compile quickly, with the number of blocks open: six configurations, and the default.
const Config base{.key_dim = 16, .value_dim = 16, .io = "f32", .mma = "f32"};

Config with_blocks(int blocks) {
  Config config = base;
  config.chunk = 16;
  config.blocks = blocks;
  return config;
}

// Tries the default and configurations of so many blocks.
TuningRequest request(std::vector<int> blocks = {}) {
  TuningRequest request{.source = {Stage::rec, rec_text(rwkv7(), base)},
                        .config = base,
                        .sizes = {size},
                        .gpu = gpu_here(Target::host, "sm_90a"),
                        .alone = true};
  for (const int count : blocks) {
    LockEntry entry;
    entry.shape_class = TuningTask(request).shape_class(size);
    entry.gpu = request.gpu;
    entry.recurrence = TuningTask(request).run().recurrence;
    entry.config = with_blocks(count);
    request.known.push_back(entry);
  }
  return request;
}

std::string edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

class TunerOnHost : public ::testing::Test {
 protected:
  Tuner::Setup setup(const TuningTask& task, Tuner::Timer timer, Tuner::Clock::duration budget = minutes(10)) const {
    return {.target = Target::host,
            .gpu = {},
            .timer = std::move(timer),
            .compile = [&task](const Config& config) { return tried(task.source(), config); },
            .threads = 2,
            .end = Tuner::Clock::now() + budget};
  }
  static Tuner::Timer taking(double ms) {
    return [ms](const Program&, LaunchSize, int) { return Timing{ms}; };
  }
};

TEST_F(TunerOnHost, TimesTheDefaultBeforeAnythingElseIsCompiled) {
  const TuningTask task(request({2, 3, 4}));
  ASSERT_EQ(task.order().size(), 4U);
  std::vector<std::size_t> compiled;
  Tuner* running = nullptr;
  Tuner tuner(setup(task,
                    [&](const Program&, LaunchSize, int) {
                      compiled.push_back(task.order().size() - running->untried());
                      return Timing{1};
                    }),
              task, nullptr);
  running = &tuner;
  const auto candidates = tuner.run();
  EXPECT_EQ(compiled.at(0), 1U);  // and the others two at a time
  EXPECT_EQ(compiled.at(1), 3U);
  EXPECT_EQ(config_text(candidates.at(0).config), config_text(task.untuned_at(size)));
  EXPECT_EQ(candidates.size(), 4U);
}

TEST_F(TunerOnHost, RejectsWhatIsFastAndWrong) {
  const TuningTask task(request({2}));
  std::string wrong;
  Tuner::Setup with_fault = setup(
      task, [&](const Program& program, LaunchSize, int) { return Timing{program.source() == wrong ? 0.001 : 1.0}; });
  with_fault.compile = [&](const Config& config) {
    const Trial right = tried(task.source(), config);
    if (config.blocks != 2) return right;
    wrong = edited(right.text, "tril_strict(", "tril(");
    return trial_of(config, wrong);
  };
  Tuner tuner(with_fault, task, nullptr);
  const auto candidates = tuner.run();
  ASSERT_EQ(candidates.size(), 2U);
  for (const Candidate& candidate : candidates) {
    const bool planted = candidate.config.blocks == 2;
    EXPECT_EQ(candidate.outcome, planted ? Outcome::rejected : Outcome::timed) << candidate.reason;
    EXPECT_EQ(candidate.ms.has_value(), !planted);
    EXPECT_THAT(candidate.reason, HasSubstr(planted ? "the error of " : ""));
  }
  const Candidate* const best = tuner.winner(size);
  ASSERT_NE(best, nullptr);
  EXPECT_NE(best->config.blocks, 2);
  const LockEntry entry = task.entry(*best, 0.5, candidates.size());
  EXPECT_EQ(entry.ms, 1.0);
  EXPECT_EQ(entry.ratio_to_copy, 2.0);
  EXPECT_EQ(entry.evidence.candidates, 2);
  EXPECT_FALSE(entry.errors.empty());
}

TEST_F(TunerOnHost, GoesOnWhereKernelsFail) {
  const TuningTask task(request({2}));
  int timed = 0;
  const Tuner::Timer failing = [&](const Program&, LaunchSize, int) -> Timing {
    if (++timed == 1) internal_error("an illegal address");
    return Timing{1};
  };
  const auto candidates = Tuner(setup(task, failing), task, nullptr).run();
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates[0].outcome, Outcome::rejected);
  EXPECT_THAT(candidates[0].reason, HasSubstr("the kernels fail: an illegal address"));
  EXPECT_EQ(candidates[1].ms, 1.0);
}

// The fastest at being refused wins nothing, unless the tensors are somebody's.
TEST_F(TunerOnHost, RejectsWhatRefusesDrawnInputs) {
  const TuningTask task(request({2}));
  for (const bool drawn : {true, false}) {
    std::string refused;
    Tuner::Setup refusing = setup(task, [&](const Program& program, LaunchSize, int) {
      const bool refuses = program.source() == refused;
      return Timing{refuses ? 0.5 : 1.0, {{"forward_refused", refuses ? 8 : 7, 70}}};
    });
    refusing.compile = [&](const Config& config) {
      Trial trial = tried(task.source(), config);
      if (config.blocks == 2) refused = trial.text;
      return trial;
    };
    refusing.drawn = drawn;
    Tuner tuner(refusing, task, nullptr);
    const auto candidates = tuner.run();
    const Candidate* const it = find_candidate(candidates, task.order().back(), size);
    ASSERT_NE(it, nullptr);
    ASSERT_EQ(it->config.blocks, 2);
    EXPECT_EQ(it->outcome, drawn ? Outcome::rejected : Outcome::timed) << it->reason;
    EXPECT_THAT(it->reason, HasSubstr(drawn ? "8 of 70 blocks ran again with scales (forward_refused)" : ""));
    EXPECT_EQ(tuner.winner(size)->ms, drawn ? 1.0 : 0.5);
  }
}

TEST(Beats, ByMoreThanNoise) {
  Candidate fast, slow;
  fast.ms = 0.98;
  slow.ms = 1;
  EXPECT_TRUE(beats(fast, &slow));
  EXPECT_FALSE(beats(slow, &slow));
  fast.ms = 0.995;
  EXPECT_FALSE(beats(fast, &slow));
  slow.ms.reset();  // the default is wrong, or has no kernels
  EXPECT_TRUE(beats(fast, &slow));
  EXPECT_TRUE(beats(fast, nullptr));
}

TEST_F(TunerOnHost, RejectsWhatWritesToItsInputs) {
  const TuningTask task(request());
  const Trial right = tried(task.source(), with_blocks(1));
  const std::string store = "store_outputs(";
  const Trial planted =
      trial_of(right.config, edited(right.text, store, "static_cast<f32*>(args.tensor[0].data)[0] = 7; " + store));
  const Verdict verdict =
      task.validation(right, size)
          .of(planted.load(Target::host), {planted.text, Passes::forward, planted.kernels.front().manifest});
  EXPECT_THAT(verdict.fault, HasSubstr("write to the input"));
}

TEST_F(TunerOnHost, GoesOnWhereItWas) {
  const TemporaryDirectory directory;
  const TuningTask task(request());
  int timed = 0;
  const Tuner::Timer timer = [&](const Program&, LaunchSize, int) { return Timing{static_cast<double>(++timed)}; };
  constexpr int again = 3;  // rounds of the best
  std::vector<Candidate> first, second;
  {
    Journal journal(directory.path() / "journal", task.run());
    first = Tuner(setup(task, timer), task, &journal).run();
    EXPECT_EQ(timed, 1 + again);
  }
  Journal journal(directory.path() / "journal", task.run());
  second = Tuner(setup(task, timer), task, &journal).run();
  EXPECT_EQ(timed, 1 + 2 * again);
  EXPECT_EQ(second.front().outputs, first.front().outputs);
}

// What a call takes is the same for every budget; the model ranks as many others as there is time for.
TEST_F(TunerOnHost, RanksByTheModelWithoutAGpu) {
  const TuningTask task(request({2, 3}));
  for (const auto budget : {minutes(0), minutes(10)}) {
    Tuner tuner(setup(task, {}, budget), task, nullptr);
    const auto candidates = tuner.run();
    EXPECT_EQ(candidates.size(), budget == minutes(0) ? 1U : 3U);
    const Candidate* const untuned = find_candidate(candidates, task.untuned_at(size), size);
    ASSERT_NE(untuned, nullptr);
    EXPECT_EQ(untuned->outcome, Outcome::skipped);
    EXPECT_THAT(untuned->reason, HasSubstr("model"));
    EXPECT_GT(untuned->predicted_ms.value_or(0), 0);
    EXPECT_EQ(tuner.winner(size), nullptr);
  }
}

TEST_F(TunerOnHost, TimesTheDefaultWhateverTheBudgetIs) {
  const TuningTask task(request({2, 3}));
  Tuner tuner(setup(task, taking(1), minutes(0)), task, nullptr);
  const auto candidates = tuner.run();
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_EQ(candidates[0].outcome, Outcome::timed);
  EXPECT_EQ(tuner.untried(), 2U);
  ASSERT_NE(tuner.winner(size), nullptr);
  EXPECT_FALSE(beats(*tuner.winner(size), &candidates[0]));
}

TEST(SizesToValidate, KeepTheTails) {
  EXPECT_EQ(size_to_validate({3, 6000, 20}), (LaunchSize{2, 192 + 6000 % 192, 2}));
  EXPECT_EQ(size_to_validate({1, 100, 1}), (LaunchSize{1, 100, 1}));
  for (const int tokens : {384, 385, 1000, 1 << 20}) {
    const std::int64_t fewer = size_to_validate({1, tokens, 1}).tokens;
    EXPECT_LT(fewer, 384);
    for (const int chunk : {16, 32, 48, 64}) EXPECT_EQ(fewer % chunk, tokens % chunk);
  }
}

TEST(Trials, SayWhyThereAreNoKernels) {
  Config config{.key_dim = 16, .value_dim = 16, .io = "f32", .mma = "f32", .sram = 1024};
  const Trial trial = tried({Stage::rec, rec_text(rwkv7(), config)}, config);
  EXPECT_THAT(trial.fault, HasSubstr("shared memory"));
  EXPECT_TRUE(trial.kernels.empty());
}

TEST(Trials, GoOnAfterAFaultOfOurOwn) {
  Config config{.key_dim = 16, .value_dim = 16, .io = "f32", .mma = "f32"};
  const std::string whole = lower_to({Stage::rec, rec_text(rwkv7(), config)}, Stage::cuda, config);
  const Source broken{Stage::cuda, edited(whole, "tril_strict(", "tril_strict((")};
  EXPECT_THAT(tried(broken, config).fault, HasSubstr("a fault of wkvc, please report it: "));
}

}  // namespace
}  // namespace wkvc
