// The emitted forward and backward kernels against the recurrence and its gradients in float64, on the host target and,
// where there is one, on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "dsl/builtin.h"
#include "runtime/error.h"
#include "runtime/manifest/joint_manifest.h"
#include "tests/lower/recurrences.h"
#include "tests/run/run.h"
#include "tests/run/sample.h"

namespace wkvc::test {
namespace {

Config config_of(const std::string& mma, const std::string& io, int key_dim = 0, int value_dim = 0) {
  Config config;
  config.pass = "both";
  config.mma = mma;
  config.io = io;
  config.key_dim = key_dim;
  config.value_dim = value_dim;
  return config;
}

const std::vector<Config> kDtypes = {config_of("f16", "bf16"), config_of("bf16", "bf16"), config_of("f32", "f32"),
                                     config_of("f16", "f16"),  config_of("f16", "f32"),   config_of("f32", "bf16")};

// One of each operand dtype.
const std::vector<Config> kOperands = {kDtypes[0], kDtypes[1], kDtypes[2]};

using Change = std::function<void(Problem&)>;

void scale(std::vector<double>& x, double factor) {
  for (double& value : x) value *= factor;
}

// Mild decays for either form: log decays below 0.
void lower_decays(Problem& problem) {
  for (double& w : problem.values["w"]) w -= 4;
}

void choose_decays(Problem& problem, const std::vector<double>& choices) {
  auto& w = problem.values["w"];
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = choices[(i * 7 + i / 64 * 3) % choices.size()];
}

// One program, which is compiled when it is needed, and what it is compared with.
struct Subject {
  Subject(const Definition& definition, const Config& given, Target at, Sample* drawn)
      : config(given),
        rec(rec_text(definition, given)),
        text(cuda_text(definition, given)),
        manifest(joint_manifest(manifests_from(text))),
        target(at),
        sample(drawn) {}

  const Program& program() const {
    if (!program_) program_ = Program::load(text, target);
    return *program_;
  }

  Problem problem(LaunchSize size) const {
    return random_problem(manifest, size, 17 * static_cast<unsigned>(size.tokens) + 1);
  }

  // Runs the program if the sample holds it.
  void expect_within(const Problem& problem, double looser = 1) const {
    if (!sample->holds(text)) return;
    const Errors errors = run_and_compare(program(), rec, problem);
    for (const TensorSpec& spec : manifest.tensors) {
      if (!is_result(spec.role) || problem.absent.contains(spec.name)) continue;
      ASSERT_TRUE(errors.contains(spec.name)) << spec.name;
      EXPECT_LE(errors.at(spec.name), looser * bound_of(config, spec.role))
          << manifest.op << ", " << manifest.config << ", T " << problem.size.tokens << ": " << spec.name;
    }
  }

  void check(LaunchSize size, const Change& change = {}, double looser = 1) const {
    Problem drawn = problem(size);
    if (change) change(drawn);
    expect_within(drawn, looser);
  }

  Config config;
  std::string rec, text;
  Manifest manifest;
  Target target;
  Sample* sample;

 private:
  mutable std::optional<Program> program_;
};

class Backward : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  Subject subject(const Definition& definition, const Config& config = config_of("f16", "bf16")) {
    return Subject(definition, config, GetParam(), &sample_);
  }

 private:
  Sample sample_;
};

TEST_P(Backward, SequenceLengths) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject at = subject(definition);
    for (std::int64_t tokens : {1, 15, 16, 17, 63, 1000})
      at.check({1, tokens, tokens < 15 ? 30 : tokens > 100 ? 1 : 2});
    at.check({2, 37, 3}, [](Problem& problem) { problem.storage = Storage::heads_first; });
  }
}

// Which no kernel for aligned launches can take.
TEST_P(Backward, UnalignedRows) {
  const auto unaligned = [](Problem& problem) { problem.storage = Storage::unaligned; };
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject at = subject(definition);
    at.check({2, 37, 3}, unaligned);
    at.check({2, 37, 3});  // the same program
    Config config = config_of("f16", "bf16");
    config.teams = config.backward_teams = 2;
    subject(definition, config).check({2, 37, 3}, unaligned);
  }
}

TEST_P(Backward, Dtypes) {
  for (const Config& config : kDtypes)
    for (const Definition& definition : {rwkv7(), rwkv6()}) subject(definition, config).check({2, 50, 2}, lower_decays);
  for (const Config& config : kOperands) subject(rwkv7_logw(), config).check({2, 50, 2}, lower_decays);
}

TEST_P(Backward, Heads) {
  for (auto [K, V] : {std::pair{32, 32}, {128, 128}, {64, 128}, {48, 80}})
    subject(rwkv7(), config_of("f16", "bf16", K, V)).check({1, 40, 2});
  for (auto [K, V] : {std::pair{64, 128}, {48, 80}}) subject(rwkv6(), config_of("f16", "bf16", K, V)).check({1, 40, 2});
}

// log_w from −40 a token to exactly 0.
void strong_decays_of_rwkv6(Problem& problem) { choose_decays(problem, {-200, std::log(40.0), 2, -1, -6}); }
void strong_decays_of_logarithms(Problem& problem) { choose_decays(problem, {0, -40, -7, -0.4, -0.0025}); }

TEST_P(Backward, StrongDecays) {
  for (const Config& config : kDtypes) {
    subject(rwkv6(), config).check({1, 100, 2}, strong_decays_of_rwkv6);
  }
  for (const Config& config : kOperands) {
    subject(rwkv7_logw(), config).check({1, 100, 2}, strong_decays_of_logarithms);
  }
}

// The largest relative error among parts of a result: element i belongs to part i % row / width.
double worst_error(const std::vector<double>& x, const std::vector<double>& reference, std::size_t row,
                   std::size_t width) {
  std::vector<std::vector<double>> of_part(row / width), expected(row / width);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    of_part[i % row / width].push_back(x[i]);
    expected[i % row / width].push_back(reference[i]);
  }
  double worst = 0;
  for (std::size_t part = 0; part < expected.size(); ++part)
    worst = std::max(worst, relative_error(of_part[part], expected[part]));
  return worst;
}

// Where decays are steep: everywhere, in one head of two, or in one channel of each head.
enum class Steep { everywhere, head, channel };

bool is_steep(Steep where, std::size_t i, std::size_t heads, std::size_t channels) {
  return where == Steep::everywhere || (where == Steep::head && i / channels % heads == 0) ||
         (where == Steep::channel && i % channels == 5);
}

// The gradient of the input `name`, log decays or others, which is `steep` in places: of each head and of each of its
// channels relative to its own norm.
void check_where_steep(const Subject& at, const std::string& name, Steep where, double steep, double bound) {
  const LaunchSize size{1, 70, 2};
  Problem problem = random_problem(at.manifest, at.rec, size, 3);
  auto& w = problem.values.at(name);
  const std::size_t row = w.size() / static_cast<std::size_t>(size.tokens);
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = is_steep(where, i, static_cast<std::size_t>(size.heads), row / 2) ? steep : -0.1;
  const auto reference = reference_of(at.manifest, at.rec, size, rounded(at.manifest, problem)).at("d" + name);
  const TensorMap memory = run_in_memory(at.program(), problem);
  std::vector<double> x(reference.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = memory.at("d" + name).get(i);
  std::vector<std::size_t> widths{row / 2};
  // With bf16 operands their roundings make up to 6.6e-3 of a channel, whatever the decays.
  if (at.config.mma != "bf16") widths.push_back(1);
  for (std::size_t width : widths)
    EXPECT_LE(worst_error(x, reference, row, width), bound)
        << at.manifest.op << ", " << at.manifest.config << ", " << name << " " << steep << ", parts of " << width;
}

// Nothing decays at the first token if there is no initial state. `rounding`: of terms that cancel there.
void check_first_token(const Subject& at, const std::string& name, double rounding = 0) {
  Problem problem = random_problem(at.manifest, at.rec, {1, 70, 2}, 3);
  problem.absent = {"initial_state", "dinitial_state"};
  const TensorMap memory = run_in_memory(at.program(), problem);
  const std::size_t token = problem.values.at(name).size() / 70;
  for (std::size_t i = 0; i < token; ++i) EXPECT_LE(std::abs(memory.at("d" + name).get(i)), rounding) << at.manifest.op;
}

// What the neighbours of a steep decay make of its gradient is 1e-7 of theirs, and would be most of it.
TEST_P(Backward, SteepDecaysOfEachHeadAndChannel) {
  const Definition gate = recurrence_named("gated_delta_net");
  for (const char* mma : {"f32", "f16", "bf16"})
    for (const auto& [definition, name] : {std::pair{rwkv7_logw(), "w"}, {gate, "log_w"}}) {
      const Config config = config_of(mma, "f32", 32, 32);
      const Subject at = subject(definition, config);
      const double bound = bound_of(config, Role::input_gradient);
      for (double log_decay : {-8., -10., -15., -20., -30.})
        check_where_steep(at, name, Steep::everywhere, log_decay, bound);
      for (Steep where : {Steep::head, Steep::channel}) check_where_steep(at, name, where, -15, bound);
      check_first_token(at, name);
    }
}

Config guarded(Config config) {
  config.scales = "guarded";
  return config;
}

// As Kimi Delta Attention has it with a gate down to e^-5: f32 holds what pairs decay to and from, 16 bits do not.
Definition channel_gate() {
  return recurrence("channel_gate", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    op.compute(f16);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto log_w = op.input("log_w", K, f32).in(-5, 0);
    auto beta = op.input("beta", scalar, f32).in(0, 1);
    auto S = op.state("S", V, K, f32);
    auto decayed = op.let("decayed", S * diag(exp(log_w)));
    auto next = decayed + outer(beta * (cast<f32>(v) - dot(decayed, k)), k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

TEST_P(Backward, SteepDecaysInARange) {
  for (const char* mma : {"f32", "f16", "bf16"}) {
    const Config config = config_of(mma, "f32", 32, 32);
    Config by_teams = guarded(config);
    by_teams.backward_teams = 2;
    by_teams.save_every = 32;
    for (const Config& scales : {config, guarded(config), by_teams}) {
      const Subject at = subject(channel_gate(), scales);
      const double bound = bound_of(config, Role::input_gradient);
      for (double log_decay : {-0.01, -1., -3., -5.})
        check_where_steep(at, "log_w", Steep::everywhere, log_decay, bound);
      for (Steep where : {Steep::head, Steep::channel}) check_where_steep(at, "log_w", where, -5, bound);
      check_first_token(at, "log_w", 1e-6);
    }
  }
}

Definition gated_write() {
  return recurrence("gated_write", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    op.compute(f16);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto gate = op.input("gate", scalar, f32);
    auto S = op.state("S", V, K, f32);
    auto next = S * 0.9f + outer(sigmoid(gate) * tanh(cast<f32>(v)), k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

// Where sigmoid and tanh are near 1 their derivatives are as small as e^-x, and 1 minus a result has lost that.
TEST_P(Backward, SaturatedActivationsOfEachHeadAndChannel) {
  for (const char* mma : {"f32", "f16", "bf16"}) {
    const Config config = config_of(mma, "f32", 32, 32);
    const double bound = bound_of(config, Role::input_gradient);
    for (Steep where : {Steep::everywhere, Steep::head}) {
      const Subject decay = subject(rwkv7(), config), write = subject(gated_write(), config);
      for (double x : {-70., -12., 12., 20.}) {
        check_where_steep(decay, "w", where, x, bound);
        check_where_steep(write, "gate", where, x, bound);
      }
      for (double x : {-9., 9., 20.}) check_where_steep(write, "v", where, x, bound);
    }
  }
}

// The keys of the first token again and again, and hardly any decay.
void repeat_key(Problem& problem, double beta) {
  auto &a = problem.values["a"], &b = problem.values["b"], &w = problem.values["w"], &k = problem.values["k"];
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = a[i % 64];
    b[i] = -beta * a[i];
    k[i] = -a[i];
    w[i] = -6;
  }
}

// What one rounding of operands may cost there: gradients of a, b and v are small differences of what is rounded.
// Measured: 4.5e-3 in f16, 2.5e-2 in bf16.
double cost_of_repeated_keys(const Config& config) { return config.mma == "f16" ? 2.5 : config.mma == "bf16" ? 6 : 1; }

// The hardest triangular solve.
TEST_P(Backward, RepeatedKey) {
  for (const Config& config : kDtypes) {
    const Subject at = subject(rwkv7(), config);
    for (double beta : {0.9, 1.0})
      at.check({1, 200, 1}, [&](Problem& problem) { repeat_key(problem, beta); }, cost_of_repeated_keys(config));
  }
}

void check_magnitudes(const Subject& at) {
  for (double factor : {1e-6, 1e3}) {
    at.check({1, 50, 1}, [&](Problem& problem) {
      for (const char* name : {"do", "dfinal_state"}) scale(problem.values[name], factor);
    });
    at.check({1, 50, 1}, [&](Problem& problem) { scale(problem.values["do"], factor); });
  }
}

TEST_P(Backward, IncomingGradientsOfAnyMagnitude) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) check_magnitudes(subject(definition));
}

void check_without_states(const Subject& at) {
  const std::vector<std::set<std::string>> choices = {
      {"initial_state"},
      {"dfinal_state"},
      {"dinitial_state"},
      {"initial_state", "final_state", "dfinal_state", "dinitial_state"}};
  for (const auto& absent : choices) at.check({1, 37, 2}, [&](Problem& problem) { problem.absent = absent; });
}

TEST_P(Backward, WithoutStates) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) check_without_states(subject(definition));
}

std::set<std::string> gradients_of(const Manifest& manifest) {
  std::set<std::string> names;
  for (const TensorSpec& spec : manifest.tensors)
    if (is_result(spec.role) && is_gradient(spec.role)) names.insert(spec.name);
  return names;
}

// Those that are asked for, in the same bytes as among all of them, and no others.
TEST_P(Backward, SomeGradients) {
  using Names = std::vector<std::string>;
  for (const auto& [definition, subsets] : {std::pair{rwkv7(), std::vector<Names>{{"r"}, {"w", "k"}, {"a", "b"}}},
                                            {rwkv6(), std::vector<Names>{{"v"}, {"u"}, {"w", "k"}}}}) {
    const Subject all = subject(definition);
    const Problem problem = all.problem({2, 37, 2});
    const auto bytes = run_raw(all.program(), problem);
    for (const Names& names : subsets) {
      Config config = all.config;
      config.gradients = names;
      const Subject some = subject(definition, config);
      std::set<std::string> expected{"dinitial_state"};
      for (const std::string& name : names) expected.insert("d" + name);
      EXPECT_EQ(gradients_of(some.manifest), expected);
      for (const auto& [name, raw] : run_raw(some.program(), problem))
        EXPECT_EQ(raw, bytes.at(name)) << definition.name << ": " << name << " among " << names.size();
    }
  }
}

// Every so many tokens; those between are computed again.
TEST_P(Backward, SavedStates) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    for (int interval : {16, 64, 128}) {
      Config config = config_of("f16", "bf16");
      config.save_every = interval;
      const Subject at = subject(definition, config);
      for (std::int64_t tokens : {17, 150}) at.check({2, tokens, 2});
    }
  }
}

// Segments of a sequence side by side, some of them empty, whole groups of saved states each.
TEST_P(Backward, Segments) {
  for (const auto& [definition, operands] :
       {std::pair{rwkv7(), kDtypes[0]}, {rwkv7(), kDtypes[2]}, {rwkv6(), kDtypes[0]}}) {
    Config config = operands;
    config.segments = config.mma == "f16" ? 2 : 5;
    config.save_every = 32;
    const Subject at = subject(definition, config);
    for (std::int64_t tokens : {1, 17, 63, 300}) at.check({2, tokens, tokens < 15 ? 15 : 2}, lower_decays);
  }
}

// Each pass in as many as suit it; backward summaries in teams.
TEST_P(Backward, SegmentsOfItsOwn) {
  for (const auto& [forward, backward] : {std::pair{1, 3}, {4, 1}, {2, 5}}) {
    Config config = kDtypes[0];
    config.segments = forward;
    config.backward_segments = backward;
    config.save_every = 32;
    config.backward_teams = 2;
    for (const Definition& definition : {rwkv7(), rwkv6()})
      subject(definition, config).check({1, 170, 2}, lower_decays);
  }
}

// The forward kernel of teams saves states and inverses as any other.
TEST_P(Backward, AfterTeams) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config = kDtypes[0];
    config.teams = 4;
    config.save_every = 32;
    subject(definition, config).check({2, 150, 2}, lower_decays);
  }
}

Config of_teams(Config config, int teams) {
  config.backward_teams = teams;
  return config;
}

// A state is taken through a round of chunks by the kernel itself; the last round may be short.
TEST_P(Backward, Teams) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject by_two = subject(definition, of_teams(kDtypes[0], 2));
    for (std::int64_t tokens : {1, 15, 16, 17, 32, 33, 49, 150}) by_two.check({2, tokens, tokens < 15 ? 30 : 2});
    by_two.check({2, 37, 3}, [](Problem& problem) { problem.storage = Storage::heads_first; });
    subject(definition, of_teams(kDtypes[1], 2)).check({1, 70, 2}, lower_decays);
  }
  subject(rwkv7(), of_teams(kDtypes[0], 4)).check({1, 200, 2});
}

TEST_P(Backward, TeamsOfOtherConfigurations) {
  for (auto [K, V] : {std::pair{32, 32}, {64, 32}, {32, 64}, {48, 96}, {128, 64}})
    subject(rwkv7(), of_teams(config_of("f16", "bf16", K, V), 2)).check({1, 40, 2});
  subject(rwkv7(), of_teams(config_of("f32", "f32", 32, 32), 2)).check({1, 50, 2});
  subject(rwkv6(), of_teams(config_of("f32", "bf16", 32, 32), 2)).check({1, 50, 2}, lower_decays);
  for (const char* saved : {"f16", "bf16"}) {
    Config config = of_teams(kDtypes[0], 2);
    config.saved = saved;
    config.segments = 2;
    subject(rwkv7(), config).check({1, 140, 2}, {}, saved[0] == 'b' ? 2 : 1);
  }
}

// Where sums share scales, which follow the states' magnitudes.
TEST_P(Backward, TeamsOfHardInputs) {
  const Config config = of_teams(kDtypes[0], 2);
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject at = subject(definition, config);
    check_magnitudes(at);
    check_without_states(at);
    for (const char* state : {"initial_state", "dfinal_state"})
      for (double factor : {1e-4, 1e4})
        at.check({1, 70, 1}, [&](Problem& problem) { scale(problem.values[state], factor); });
  }
  // What is made of a and b is no gradient of theirs.
  for (const std::vector<std::string>& small :
       {std::vector<std::string>{"a"}, {"b"}, {"a", "b"}, {"k"}, {"r"}, {"v", "k"}})
    for (double factor : {0.0, 1e-4})
      subject(rwkv7(), config).check({1, 70, 1}, [&](Problem& problem) {
        for (const std::string& name : small) scale(problem.values[name], factor);
      });
  subject(rwkv6(), config).check({1, 100, 2}, strong_decays_of_rwkv6);
  subject(rwkv7_logw(), config).check({1, 100, 2}, strong_decays_of_logarithms);
  subject(rwkv7(), config)
      .check({1, 200, 1}, [](Problem& problem) { repeat_key(problem, 1); }, cost_of_repeated_keys(config));
}

// Which values warps leave for each other depends on what is asked for, and whether they wait for a state's maximum.
TEST_P(Backward, TeamsOfSomeGradients) {
  for (const Config& operands : kOperands)
    for (const std::vector<std::string>& wanted :
         {std::vector<std::string>{"v"}, {"a"}, {"w"}, {"k", "b"}, {"u", "r"}}) {
      Config config = of_teams(operands, 2);
      config.gradients = wanted;
      config.key_dim = config.value_dim = 64;
      subject(wanted[0] == "u" ? rwkv6() : rwkv7(), config).check({1, 70, 2}, lower_decays);
    }
}

// What they are multiplied by last is kept whichever are asked for.
TEST_P(Backward, SomeGradientsOfWideHeads) {
  Config config = guarded(of_teams(kDtypes[0], 2));
  config.key_dim = 128;
  config.value_dim = 64;
  const Subject all = subject(rwkv7(), config);
  const Problem problem = all.problem({1, 37, 2});
  const auto bytes = run_raw(all.program(), problem);
  config.gradients = {"k"};
  for (const auto& [name, raw] : run_raw(subject(rwkv7(), config).program(), problem))
    EXPECT_EQ(raw, bytes.at(name)) << name;
}

// Without scales where f16 needs none, as with them elsewhere.
TEST_P(Backward, Guarded) {
  for (const Definition& definition : {rwkv7(), rwkv6()})
    for (int teams : {1, 2}) {
      const Subject at = subject(definition, guarded(of_teams(kDtypes[0], teams)));
      for (std::int64_t tokens : {1, 17, 150}) at.check({2, tokens, tokens < 15 ? 30 : 2});
      check_magnitudes(at);
      check_without_states(at);
      for (const char* state : {"initial_state", "dfinal_state"})
        for (double factor : {1e-4, 1e6})
          at.check({1, 70, 1}, [&](Problem& problem) { scale(problem.values[state], factor); });
    }
  for (const Config& config : kDtypes) subject(rwkv7(), guarded(config)).check({2, 50, 2}, lower_decays);
}

// Of two rounds one has a saved state, which goes through it a second time before the other.
TEST_P(Backward, GuardedAgain) {
  Config config = guarded(of_teams(kDtypes[0], 2));
  config.save_every = 64;
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject at = subject(definition, config);
    for (std::int64_t tokens : {1, 17, 33, 49, 64, 65, 81, 97, 150}) at.check({2, tokens, tokens < 15 ? 30 : 2});
    at.check({1, 100, 1}, [](Problem& problem) { scale(problem.values["v"], 1e-5); });  // refused
  }
  for (const char* saved : {"f16", "bf16"}) {
    config.saved = saved;
    config.segments = 2;
    subject(rwkv7(), config).check({1, 300, 2}, {}, saved[0] == 'b' ? 2 : 1);
  }
  Config wide = guarded(of_teams(config_of("f16", "bf16", 128, 128), 2));
  wide.save_every = 64;
  wide.saved = "f16";
  subject(rwkv7(), wide).check({1, 130, 1});
}

// Decays that plain programs do not factor, from the first token on and later.
TEST_P(Backward, GuardedDecays) {
  for (int teams : {1, 2}) {
    const Config config = guarded(of_teams(kDtypes[0], teams));
    subject(rwkv6(), config).check({1, 100, 2}, strong_decays_of_rwkv6);
    subject(rwkv7_logw(), config).check({1, 100, 2}, strong_decays_of_logarithms);
    subject(rwkv6(), config).check({1, 150, 2}, [](Problem& problem) {
      auto& w = problem.values["w"];
      for (std::size_t i = 0; i < w.size(); ++i) w[i] = i > w.size() / 2 && i % 7 == 0 ? 1 : std::min(w[i], -1.);
    });
  }
}

// f32 gradients in strips, teams of one warp.
TEST_P(Backward, GuardedConfigurations) {
  subject(rwkv7(), guarded(of_teams(config_of("f16", "bf16", 32, 32), 2))).check({1, 70, 2});
  for (const Definition& definition : {rwkv7(), rwkv6()})
    subject(definition, guarded(of_teams(config_of("f16", "f32", 64, 64), 2))).check({1, 70, 2});
}

// Small keys and values under strong decays, which a product of both may not survive.
TEST_P(Backward, GuardedSmallInputs) {
  const Subject at = subject(rwkv7(), guarded(kDtypes[0]));
  for (double factor : {0.3, 0.1, 0.03, 0.01})
    at.check({1, 70, 2}, [&](Problem& problem) {
      for (const char* name : {"r", "k", "v"}) scale(problem.values[name], factor);
      for (double& w : problem.values["w"]) w += 6;
    });
}

TEST_P(Backward, GuardedSegments) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config = guarded(of_teams(kDtypes[0], 2));
    config.segments = 2;
    config.backward_segments = 3;
    const Subject at = subject(definition, config);
    at.check({1, 170, 2}, lower_decays);
    for (const char* name : {"do", "v"})
      at.check({1, 170, 2}, [&](Problem& problem) { scale(problem.values[name], 1e-5); });
  }
}

// Gradients are refused by themselves: their size alone does not matter.
TEST_P(Backward, GuardedUnits) {
  if (GetParam() == Target::cuda) return;  // internals are read where they lie
  const Subject at = subject(rwkv7(), guarded(of_teams(kDtypes[0], 2)));
  const auto refused = [&](const char* name, const Change& change) {
    Problem problem = at.problem({1, 70, 1});
    change(problem);
    return run_in_memory(at.program(), problem).at(name).get(0) != 0;
  };
  for (double factor : {1e-12, 1e-6, 1., 1e6}) {
    const Change both = [&](Problem& problem) {
      for (const char* name : {"do", "dfinal_state"}) scale(problem.values[name], factor);
    };
    EXPECT_FALSE(refused("backward_refused", both)) << factor;
    EXPECT_FALSE(refused("forward_refused", both)) << factor;
  }
  const Change apart = [](Problem& problem) { scale(problem.values["do"], 1e-6); };
  EXPECT_TRUE(refused("backward_refused", apart));
  EXPECT_FALSE(refused("forward_refused", apart));
}

// Decays of one number a token have no range to keep to: ordinary data refuse no block, however steep these are.
TEST_P(Backward, GuardedDecaysOfTokens) {
  if (GetParam() == Target::cuda) return;  // internals are read where they lie
  for (int teams : {1, 2}) {
    Config config = guarded(of_teams(kDtypes[0], teams));
    config.key_dim = config.value_dim = 64;
    const Subject at = subject(recurrence_named("gated_delta_net"), config);
    for (double log_decay : {-0.1, -5., -20., -30.}) {
      Problem problem = random_problem(at.manifest, at.rec, {1, 70, 1}, 3);
      std::ranges::fill(problem.values.at("log_w"), log_decay);
      const TensorMap memory = run_in_memory(at.program(), problem);
      for (const char* name : {"forward_refused", "backward_refused"})
        EXPECT_EQ(memory.at(name).get(0), 0) << at.manifest.config << ", " << name << ", log decays " << log_decay;
    }
  }
}

// Nor have those of a channel that keep to a range which f32 holds.
TEST_P(Backward, GuardedDecaysInARange) {
  if (GetParam() == Target::cuda) return;  // internals are read where they lie
  const Subject at = subject(channel_gate(), guarded(kDtypes[0]));
  for (double log_decay : {-0.1, -5.}) {
    Problem problem = random_problem(at.manifest, at.rec, {1, 70, 1}, 3);
    std::ranges::fill(problem.values.at("log_w"), log_decay);
    const TensorMap memory = run_in_memory(at.program(), problem);
    for (const char* name : {"forward_refused", "backward_refused"})
      EXPECT_EQ(memory.at(name).get(0), 0) << name << ", log decays " << log_decay;
  }
}

// A row of a parameter over values, which both states' steps need; sums over values of what they make.
TEST_P(Backward, TeamsOfRowsOfValues) {
  const Definition gated = recurrence("gated_values", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    op.compute(f16);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto u = op.parameter("u", V, f32);
    auto S = op.state("S", V, K, f32);
    auto next = S * diag(exp(cast<f32>(k) * 0.f - 0.5f)) + outer(cast<f32>(v) * sigmoid(u), cast<f32>(k));
    op.update(S, next);
    op.output("o", dot(next, r) * sigmoid(u), bf16);
  });
  for (const Config& operands : kOperands) {
    Config config = of_teams(operands, 2);
    config.key_dim = config.value_dim = 32;
    subject(gated, config).check({2, 50, 2});
  }
}

// Tiny values beside a large one, whose sign counts.
TEST_P(Backward, TeamsOfComparedInputs) {
  const Definition relus = recurrence("relus", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    op.compute(f16);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto S = op.state("S", V, K, f32);
    auto next = S * 0.5f + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, r) + relu(cast<f32>(v)), f32);
  });
  Config config = of_teams(kDtypes[0], 2);
  config.key_dim = config.value_dim = 32;
  subject(relus, config).check({1, 50, 2}, [](Problem& problem) {
    auto& v = problem.values["v"];
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = i % 32 == 5 ? 1 : std::abs(v[i]) * 1e-9;
  });
}

TEST_P(Backward, TeamsOfEveryRecurrence) {
  std::vector<Definition> all = recurrences();
  all.push_back(rwkv7_logw());
  int with_teams = 0;
  for (const Definition& definition : all) {
    try {
      Config config = of_teams(kDtypes[0], 2);
      config.key_dim = config.value_dim = 64;
      const Subject of_two = subject(definition, config);
      ++with_teams;
      Problem problem = random_problem(of_two.manifest, of_two.rec, {2, 37, 2}, 1);
      for (const TensorSpec& spec : of_two.manifest.tensors)  // as keys, they let states grow
        if (spec.role == Role::parameter && spec.dtype == DType::bf16) scale(problem.values.at(spec.name), 0.1);
      of_two.expect_within(problem);
    } catch (const UserError& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.find("bytes of shared memory") != what.npos || what.find("use --teams N,1") != what.npos)
          << definition.name << ": " << what;
    }
  }
  EXPECT_GE(with_teams, 18);
}

// Blocks of different segments run at once on a GPU, though not on the host.
TEST(Segments, HaveWorkspacesOfTheirOwn) {
  Config config = config_of("f16", "bf16");
  config.segments = 7;
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    for (const Manifest& manifest : manifests_from(cuda_text(definition, config))) {
      for (const TensorSpec& spec : manifest.tensors) {
        if (spec.role != Role::workspace) continue;
        EXPECT_EQ(spec.dims.at(2), "7") << manifest.kernel << ": " << spec.name;
      }
    }
  }
}

// What a segment's summary carries beside its map may be far smaller than the map.
TEST_P(Backward, SegmentsOfIncomingGradientsOfAnyMagnitude) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config = config_of("f16", "bf16");
    config.segments = 3;
    const Subject at = subject(definition, config);
    for (double factor : {1e-9, 1e3}) {
      at.check({1, 100, 2}, [&](Problem& problem) {
        for (const char* name : {"do", "dfinal_state"}) scale(problem.values[name], factor);
      });
    }
  }
}

// Gradients through the state lose what its rounding loses.
TEST_P(Backward, SavedStatesInBf16) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config = config_of("f16", "bf16");
    config.saved = "bf16";
    const Subject at = subject(definition, config);
    at.expect_within(at.problem({2, 100, 2}), 2);
  }
}

TEST_P(Backward, SameBytesEveryTime) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject at = subject(definition);
    const Problem problem = at.problem({2, 100, 4});
    const auto first = run_raw(at.program(), problem);
    for (int i = 1; i < (GetParam() == Target::host ? 3 : 100); ++i)
      ASSERT_EQ(run_raw(at.program(), problem), first) << i;
  }
}

// Real ones, beside float64 results of another program too.
void check_activations(const Subject& at) {
  const SafetensorsFile file = read_safetensors(WKVC_TEST_DATA "/rwkv7_layer1_head0.safetensors");
  Problem problem{{1, 1000, 1}, {}, Storage::tokens_first, {"initial_state", "dfinal_state"}};
  Values recorded;
  for (const TensorSpec& spec : at.manifest.tensors) {
    const auto found = file.tensors.find(spec.name);
    if (found == file.tensors.end()) continue;
    auto& values = is_result(spec.role) ? recorded[spec.name] : problem.values[spec.name];
    for (std::size_t i = 0; i < found->second.size(); ++i) values.push_back(found->second.get(i));
  }
  at.expect_within(problem);
  const Errors errors = run_and_compare(at.program(), problem, recorded);
  EXPECT_EQ(errors.size(), 8u);
  for (const auto& [name, error] : errors) EXPECT_LE(error, name[0] == 'd' ? 2e-3 : 1.8e-3) << name;
}

TEST_P(Backward, Activations) {
  check_activations(subject(rwkv7()));
  check_activations(subject(rwkv7(), of_teams(config_of("f16", "bf16"), 2)));
}

std::string target_name(const testing::TestParamInfo<Target>& info) {
  return info.param == Target::host ? "Host" : "Cuda";
}
INSTANTIATE_TEST_SUITE_P(Targets, Backward, testing::Values(Target::host, Target::cuda), target_name);

}  // namespace
}  // namespace wkvc::test
