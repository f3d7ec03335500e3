// Sequences one behind the other in a batch: each has the bytes that it has alone, in both passes, and none sees
// another.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/builtin.h"
#include "tests/expect_error.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

constexpr std::int64_t kHeads = 2;

using Starts = std::vector<std::int64_t>;
using Bytes = std::map<std::string, std::vector<std::byte>>;

bool has_tokens(const TensorSpec& spec) { return std::ranges::find(spec.dims, "T") != spec.dims.end(); }
bool has_batches(const TensorSpec& spec) { return !spec.dims.empty() && spec.dims.front() == "B"; }

Starts starts_of(const std::vector<std::int64_t>& lengths) {
  Starts starts{0};
  for (const std::int64_t length : lengths) starts.push_back(starts.back() + length);
  return starts;
}

// The elements [first, last) of `whole`, of `all` rows.
template <class T>
std::vector<T> rows(const std::vector<T>& whole, std::int64_t all, std::int64_t first, std::int64_t last) {
  const std::int64_t row = all == 0 ? 0 : static_cast<std::int64_t>(whole.size()) / all;
  return {whole.begin() + first * row, whole.begin() + last * row};
}

// Sequences in one launch, and each of them in one of its own.
struct Sequences {
  Starts starts;
  Problem problem;

  std::int64_t count() const { return static_cast<std::int64_t>(starts.size()) - 1; }
  std::int64_t length(std::int64_t n) const { return starts[n + 1] - starts[n]; }

  // What of a tensor's elements, or bytes, is of sequence n.
  template <class T>
  std::vector<T> part(const TensorSpec& spec, const std::vector<T>& whole, std::int64_t n) const {
    if (has_tokens(spec)) return rows(whole, problem.size.tokens, starts[n], starts[n + 1]);
    return has_batches(spec) ? rows(whole, count(), n, n + 1) : whole;
  }
  Problem alone(const Manifest& manifest, std::int64_t n) const {
    Problem one{{1, length(n), kHeads}, {}, problem.storage, problem.absent};
    for (const TensorSpec& spec : manifest.tensors) {
      const auto values = problem.values.find(spec.name);
      if (values != problem.values.end()) one.values[spec.name] = part(spec, values->second, n);
    }
    return one;
  }
};

Sequences sequences_of(const Manifest& manifest, const Starts& starts, unsigned seed = 5) {
  const auto count = static_cast<std::int64_t>(starts.size()) - 1;
  LaunchSize size{1, starts.back(), kHeads, SequenceMap{count, nullptr, true}};
  return {starts, random_problem(manifest, size, seed)};
}

Bytes run_together(const Program& program, Sequences& sequences) {
  sequences.problem.size.map->starts = sequences.starts.data();
  return run_raw(program, sequences.problem);
}

// Bytes of tensors in memory go on past the tail, where no token is.
std::vector<std::byte> of_tokens(const std::vector<std::byte>& stored, std::int64_t tokens) {
  return rows(stored, tokens + kTokensPastTail, 0, tokens);
}

// Alone is one batch; or, where sequences are cut into pieces, one sequence of a map with the same pieces.
void expect_as_alone(const Program& program, Sequences sequences, std::int64_t piece = 0) {
  sequences.problem.size.map->piece = piece;
  const Bytes together = run_together(program, sequences);
  for (std::int64_t n = 0; n < sequences.count(); ++n) {
    Problem one = sequences.alone(program.manifest(), n);
    const Starts own_starts{0, sequences.length(n)};
    if (piece > 0) one.size.map = SequenceMap{1, own_starts.data(), true, piece};
    const Bytes alone = run_raw(program, one);
    for (const TensorSpec& spec : program.manifest().tensors) {
      if (!is_result(spec.role) || spec.role == Role::parameter_gradient) continue;
      const bool tokens = has_tokens(spec);
      const auto& whole = together.at(spec.name);
      const auto part = sequences.part(spec, tokens ? of_tokens(whole, sequences.problem.size.tokens) : whole, n);
      const auto& own = alone.at(spec.name);
      EXPECT_TRUE(part == (tokens ? of_tokens(own, sequences.length(n)) : own))
          << program.manifest().config << ": " << spec.name << " of sequence " << n << ", " << sequences.length(n)
          << " tokens";
    }
  }
}

class Sequence : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  Program load(const Definition& definition, const Config& config) const {
    return Program::load(cuda_text(definition, config), GetParam());
  }
  // The gradient of a parameter is the sum of those that sequences have alone.
  void expect_sums_of_gradients(const Config& config, std::int64_t piece) const;
};

Config both_passes() {
  Config config;
  config.pass = "both";
  config.key_dim = 32;
  return config;
}

const std::vector<std::int64_t> kLengths{5, 0, 40, 16, 1, 83, 0, 130};

TEST_P(Sequence, HasTheBytesThatItHasAlone) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Program program = load(definition, both_passes());
    expect_as_alone(program, sequences_of(program.manifest(), starts_of(kLengths)));
  }
}

TEST_P(Sequence, OfEverySchedule) {
  Config teams = both_passes(), segments = both_passes(), cluster = both_passes(), exact = both_passes();
  teams.teams = teams.backward_teams = 2;
  teams.rounds = 2;
  teams.scales = teams.backward_scales = "guarded";
  teams.saved = "f16";
  segments.segments = 3;
  segments.backward_segments = 2;
  segments.save_every = 32;
  cluster.teams = 2;
  cluster.rounds = 2;
  cluster.cluster = 2;
  cluster.save_every = 16;
  Config guarded = cluster;
  guarded.scales = guarded.backward_scales = "guarded";
  exact.mma = exact.io = "f32";
  for (const Config& config : {teams, segments, cluster, guarded, exact}) {
    const Program program = load(rwkv7(), config);
    const std::int64_t piece = config.segments > 1 ? 32 : 0;
    expect_as_alone(program, sequences_of(program.manifest(), starts_of(kLengths)), piece);
  }
}

// What pieces leave each other is bounded by the tokens, and a batch of one sequence may have any number of them.
TEST_P(Sequence, InPiecesHasTheValuesOfTheRecurrence) {
  Config config = both_passes();
  config.segments = config.backward_segments = 2;
  config.save_every = 32;
  config.scales = config.backward_scales = "guarded";
  const std::string rec = rec_text(rwkv6(), config);
  const Program program = Program::load(cuda_text(rwkv6(), config), GetParam());
  for (const std::int64_t piece : {32, 64, 512}) {
    Sequences sequences = sequences_of(program.manifest(), starts_of({300}));
    sequences.problem.size.map->piece = piece;
    sequences.problem.size.map->starts = sequences.starts.data();
    const Errors errors = run_and_compare(program, rec, sequences.problem);
    for (const auto& [name, error] : errors) EXPECT_LE(error, 2e-3) << name << ", pieces of " << piece;
  }
}

TEST_P(Sequence, PiecesAreWholeDistancesOfSavedStates) {
  Config config = both_passes();
  config.segments = config.backward_segments = 2;
  config.save_every = 32;
  const Program program = load(rwkv7(), config);
  Sequences sequences = sequences_of(program.manifest(), starts_of({40, 40}));
  sequences.problem.size.map->piece = 48;
  expect_contains(user_error_of([&] { run_together(program, sequences); }),
                  "pieces of 48 tokens, expected a multiple of 32");
}

TEST_P(Sequence, OfSingleTokens) {
  Config config;
  config.chunk = 1;
  const Program program = load(rwkv7(), config);
  expect_as_alone(program, sequences_of(program.manifest(), starts_of({1, 0, 3, 1})));
}

void Sequence::expect_sums_of_gradients(const Config& config, std::int64_t piece) const {
  const Program program = load(rwkv6(), config);
  Sequences sequences = sequences_of(program.manifest(), starts_of(kLengths));
  sequences.problem.size.map->piece = piece;
  Values sum = reference_of(program.manifest(), rec_text(rwkv6(), config), {1, 0, kHeads},
                            rounded(program.manifest(), sequences.alone(program.manifest(), 1)));
  for (std::int64_t n = 0; n < sequences.count(); ++n) {
    const Problem one = sequences.alone(program.manifest(), n);
    const Values part =
        reference_of(program.manifest(), rec_text(rwkv6(), config), one.size, rounded(program.manifest(), one));
    for (std::size_t i = 0; i < sum.at("du").size(); ++i) sum["du"][i] += part.at("du")[i];
  }
  sequences.problem.size.map->starts = sequences.starts.data();
  EXPECT_LE(run_and_compare(program, sequences.problem, {{"du", sum.at("du")}}).at("du"),
            bound_of(config, Role::parameter_gradient));
}

TEST_P(Sequence, ParametersHaveTheSumOfItsGradients) { expect_sums_of_gradients(both_passes(), 0); }

TEST_P(Sequence, ParametersHaveTheSumOfGradientsOfPieces) {
  Config config = both_passes();
  config.segments = config.backward_segments = 2;
  config.save_every = 32;
  expect_sums_of_gradients(config, 64);
}

// Also where the other ones are not finite.
TEST_P(Sequence, SeesNoOther) {
  const Program program = load(rwkv7(), both_passes());
  Sequences sequences = sequences_of(program.manifest(), starts_of({40, 21, 70}));
  const Bytes before = run_together(program, sequences);
  for (const TensorSpec& spec : program.manifest().tensors) {
    const auto values = sequences.problem.values.find(spec.name);
    if (values == sequences.problem.values.end()) continue;
    const std::int64_t all = has_tokens(spec) ? sequences.problem.size.tokens : sequences.count();
    const auto row = static_cast<std::int64_t>(values->second.size()) / all;
    const std::int64_t place = has_tokens(spec) ? sequences.starts[1] + 7 : 1;
    values->second[static_cast<std::size_t>(place * row)] = std::numeric_limits<double>::quiet_NaN();
  }
  const Bytes after = run_together(program, sequences);
  for (const TensorSpec& spec : program.manifest().tensors) {
    if (!is_result(spec.role)) continue;
    const auto tokens = [&](const Bytes& bytes) {
      return has_tokens(spec) ? of_tokens(bytes.at(spec.name), sequences.problem.size.tokens) : bytes.at(spec.name);
    };
    for (const std::int64_t n : {0, 2}) {
      EXPECT_TRUE(sequences.part(spec, tokens(before), n) == sequences.part(spec, tokens(after), n)) << spec.name;
    }
  }
}

// Starts that decrease, begin behind 0 or lead past the tokens touch nothing outside; tokens of no sequence stay.
TEST_P(Sequence, StartsStayWithinTheTokens) {
  const Program program = load(rwkv7(), both_passes());
  SequenceReport report{};
  Sequences sequences = sequences_of(program.manifest(), starts_of({40, 21, 70}));
  sequences.starts = {-(1LL << 40), 100, 20, 1LL << 40};
  sequences.problem.size.map->starts = sequences.starts.data();
  sequences.problem.size.report = &report;
  for (const auto& [name, memory] : run_in_memory(program, sequences.problem)) {
    const auto spec = std::ranges::find(program.manifest().tensors, name, &TensorSpec::name);
    EXPECT_FALSE(written_past_tail(memory, layout_of(*spec, program.manifest(), sequences.problem.size))) << name;
  }
  Sequences narrow = sequences_of(program.manifest(), starts_of({40, 21}));
  narrow.starts = {8, 30, 50};
  narrow.problem.size.map->starts = narrow.starts.data();
  narrow.problem.size.report = &report;
  const TensorMap memory = run_in_memory(program, narrow.problem);
  const HostTensor& o = memory.at("o");
  const auto row = o.size() / static_cast<std::size_t>(narrow.problem.size.tokens + kTokensPastTail);
  for (std::size_t i = 0; i < o.size(); ++i) {
    const std::size_t token = i / row;
    ASSERT_EQ(std::isnan(o.get(i)), token < 8 || token >= 50) << token;
  }
}

TEST_P(Sequence, NumbersOf32Bits) {
  const Program program = load(rwkv7(), both_passes());
  Sequences sequences = sequences_of(program.manifest(), starts_of({9, 33}));
  const Bytes wide = run_together(program, sequences);
  const std::vector<std::int32_t> narrow(sequences.starts.begin(), sequences.starts.end());
  sequences.problem.size.map = SequenceMap{2, narrow.data(), false};
  EXPECT_TRUE(run_raw(program, sequences.problem) == wide);
}

// Sequences have the results that they have with states in order; states in slots of no sequence stay as they are.
void expect_same_in_slots(const Program& program, Sequences in_order, const std::vector<std::int32_t>& slots,
                          std::int64_t slot_count) {
  const Bytes expected = run_together(program, in_order);
  Sequences in_slots = in_order;
  auto& states = in_slots.problem.values.at("initial_state");
  const auto row = static_cast<std::int64_t>(states.size()) / in_order.count();
  std::vector<double> pool(static_cast<std::size_t>(slot_count * row), 0.5);
  for (std::int64_t n = 0; n < in_order.count(); ++n) {
    if (slots[n] >= 0) std::copy_n(states.begin() + n * row, row, pool.begin() + slots[n] * row);
  }
  states = pool;
  in_slots.problem.size.slots = SlotMap{slot_count, slots.data()};
  const Bytes found = run_together(program, in_slots);
  const auto tokens = in_order.problem.size.tokens;
  const auto o = of_tokens(expected.at("o"), tokens), own = of_tokens(found.at("o"), tokens);
  const auto poison = [](const std::vector<std::byte>& bytes) {
    return std::ranges::all_of(bytes, [](std::byte x) { return x == std::byte{0xff}; });
  };
  for (std::int64_t n = 0; n < in_order.count(); ++n) {
    const auto results = rows(own, tokens, in_order.starts[n], in_order.starts[n + 1]);
    if (slots[n] < 0) {
      EXPECT_TRUE(poison(results)) << "sequence " << n;
      continue;
    }
    EXPECT_TRUE(results == rows(o, tokens, in_order.starts[n], in_order.starts[n + 1])) << "sequence " << n;
    EXPECT_TRUE(rows(found.at("final_state"), slot_count, slots[n], slots[n] + 1) ==
                rows(expected.at("final_state"), in_order.count(), n, n + 1))
        << "sequence " << n;
  }
  for (std::int32_t slot = 0; slot < slot_count; ++slot) {
    if (std::ranges::find(slots, slot) != slots.end()) continue;
    EXPECT_TRUE(poison(rows(found.at("final_state"), slot_count, slot, slot + 1))) << "slot " << slot;
  }
}

TEST_P(Sequence, HasItsStateInASlot) {
  Config single = both_passes(), segments = both_passes(), guarded = both_passes();
  single.chunk = 1;
  segments.segments = 2;
  guarded.scales = "guarded";
  Config cluster = guarded;
  cluster.teams = cluster.rounds = cluster.cluster = 2;
  for (Config config : {single, segments, guarded, cluster}) {
    config.pass = "forward";
    const Program program = load(rwkv7(), config);
    expect_same_in_slots(program, sequences_of(program.manifest(), starts_of({3, 20, 1, 45})), {5, -1, 0, 2}, 7);
  }
}

// What a launch reports of starts, of 100 tokens, and slots, of 4.
SequenceReport reported(const Program& program, const std::vector<std::int64_t>& starts,
                        const std::vector<std::int32_t>& slots) {
  const auto count = static_cast<std::int64_t>(slots.size());
  SequenceReport report{};
  LaunchSize size{1, 100, kHeads, SequenceMap{count, nullptr, true}, SlotMap{4, nullptr}};
  Problem problem = random_problem(program.manifest(), size, 5);
  problem.size.map->starts = starts.data();
  problem.size.slots->slots = slots.data();
  problem.size.report = &report;
  run_raw(program, problem);
  return report;
}

TEST_P(Sequence, FaultsAreReported) {
  Config config = both_passes();
  config.pass = "forward";
  config.segments = 2;
  const Program program = load(rwkv7(), config);
  const auto expect = [&](const std::vector<std::int64_t>& starts, const std::vector<std::int32_t>& slots, int start,
                          int slot) {
    const SequenceReport report = reported(program, starts, slots);
    EXPECT_EQ(report.starts, start) << fmt::format("{} {}", fmt::join(starts, ","), fmt::join(slots, ","));
    EXPECT_EQ(report.slots, slot) << fmt::format("{} {}", fmt::join(starts, ","), fmt::join(slots, ","));
  };
  expect({0, 40, 40, 90}, {3, -1, 0}, 0, 0);  // tokens behind the last sequence are no fault, nor is padding
  expect({0, 40, 100, 100}, {3, -1, -1}, 0, 0);
  expect({1, 40, 40, 100}, {3, 1, 0}, 1, 0);
  expect({-1, 40, 40, 100}, {3, 1, 0}, 1, 0);
  expect({0, 40, 50, 101}, {3, 1, 0}, 3, 0);
  expect({0, 40, 41, 41}, {3, 4, 0}, 0, 2);
  expect({0, 40, 41, 41}, {3, 2, 3}, 0, 3);
}

// Where the host has the numbers, and nobody asked for a report.
TEST(SequenceRefusal, OfStartsAndSlotsInTheHostsMemory) {
  Config config;
  config.chunk = 1;
  const Program program = Program::load(cuda_text(rwkv7(), config), Target::host);
  const auto refused = [&](const std::vector<std::int64_t>& starts, const std::vector<std::int32_t>& slots,
                           const std::string& part, std::int64_t pool = 4) {
    const auto count = static_cast<std::int64_t>(slots.size());
    const std::vector<std::int32_t> narrow(starts.begin(), starts.end());
    for (const bool wide : {true, false}) {
      LaunchSize size{1, 9, kHeads, SequenceMap{count, nullptr, wide}, SlotMap{pool, slots.data()}};
      Problem problem = random_problem(program.manifest(), size, 5);
      problem.size.map->starts = wide ? static_cast<const void*>(starts.data()) : narrow.data();
      expect_contains(user_error_of([&] { run_raw(program, problem); }), part);
    }
  };
  refused({1, 4, 9}, {0, 1}, "(cu_seqlens) begins with 1, expected 0");
  refused({0, 5, 4}, {0, 1}, "(cu_seqlens) decreases from 5 to 4 at 2");
  refused({0, 5, 10}, {0, 1}, "(cu_seqlens) ends with 10, expected at most 9");
  refused({0, 5, 9}, {2, 2}, "(state_indices) has the slot 2 twice");
  refused({0, 5, 9}, {2, 4}, "(state_indices) has the slot 4, expected 0 to 3, or -1");
  refused({0, 5, 9}, {-1, 0}, "(state_indices) has the slot 0, but there are no slots", 0);
}

INSTANTIATE_TEST_SUITE_P(Host, Sequence, testing::Values(Target::host));
INSTANTIATE_TEST_SUITE_P(Cuda, Sequence, testing::Values(Target::cuda));

}  // namespace
}  // namespace wkvc::test
