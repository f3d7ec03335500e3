// Every combination of schedule options and heads is refused with a reason, or compiles up to a cubin.
//   WKVC_SWEEP_COUNT   combinations that are tried, 2 unless told
//   WKVC_TEST_SEED     which: another one in each run unless told
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "dsl/registry.h"
#include "runtime/error.h"
#include "runtime/nvrtc/nvrtc.h"

namespace wkvc::test {
namespace {

unsigned number_from(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

struct Combination {
  Definition definition;
  Config config;
};

class Sampler {
 public:
  explicit Sampler(unsigned seed) : random_(seed) {}

  Combination next() {
    Combination combination{operators_.find(names_[between(0, names_.size() - 1)]), {}};
    Config& config = combination.config;
    config.key_dim = one_of({16, 32, 48, 64, 64, 96, 128, 128, 192, 256});
    config.value_dim = coin() ? config.key_dim : one_of({16, 32, 64, 128, 256});
    config.pass = one_of<std::string>({"forward", "forward", "both"});
    config.mma = one_of<std::string>({"f16", "f16", "f16", "bf16", "f32"});
    config.chunk = one_of({16, 16, 16, 32});
    config.scales = one_of<std::string>({"guarded", "guarded", "always"});
    config.blocks = one_of({0, 1, 1, 2, 3, 4});
    config.teams = one_of({1, 2, 2, 3, 4, 8});
    if (config.teams > 1) config.rounds = one_of({1, 2});
    if (config.rounds > 1) config.cluster = one_of({1, 1, 1, 2, 4});
    config.segments = one_of({1, 1, 4, 16});
    if (config.pass == "both") add_backward(config);
    return combination;
  }

 private:
  void add_backward(Config& config) {
    config.backward_blocks = one_of({0, 1, 2, 3});
    config.backward_teams = one_of({1, 2, 2, 4});
    config.backward_segments = one_of({0, 1, 4});
    config.saved = one_of<std::string>({"f32", "bf16", "f16"});
    if (config.backward_teams > 1) config.save_every = config.backward_teams * config.chunk * one_of({1, 2});
  }

  template <class T>
  T one_of(std::initializer_list<T> values) {
    return std::data(values)[between(0, values.size() - 1)];
  }
  std::size_t between(std::size_t first, std::size_t last) {
    return std::uniform_int_distribution<std::size_t>(first, last)(random_);
  }
  bool coin() { return one_of({0, 1}) == 1; }

  std::mt19937 random_;
  const Registry operators_ = Registry::builtin();
  const std::vector<std::string> names_ = operators_.names();
};

std::string options_of(const Combination& combination) {
  const Config& c = combination.config;
  return fmt::format(
      "{} --head {},{} --pass {} --mma {} --chunk {} --scales {} --blocks {},{} --teams {},{} --rounds {} --cluster {} "
      "--segments {},{} --saved {} --save-every {}",
      combination.definition.name, c.key_dim, c.value_dim, c.pass, c.mma, c.chunk, c.scales, c.blocks,
      c.backward_blocks, c.teams, c.backward_teams, c.rounds, c.cluster, c.segments, c.backward_segments, c.saved,
      c.save_every);
}

// The text of the next combination that is not refused.
std::pair<Combination, std::string> next_text(Sampler& sampler) {
  while (true) {
    Combination combination = sampler.next();
    try {
      std::string text =
          lower_to(rec_source(combination.definition, combination.config), Stage::cuda, combination.config);
      return {std::move(combination), std::move(text)};
    } catch (const UserError&) {
    } catch (const std::exception& error) {
      ADD_FAILURE() << options_of(combination) << "\n" << std::string_view(error.what()).substr(0, 600);
    }
  }
}

TEST(Sweep, LowersWhatIsNotRefused) {
  const unsigned seed = number_from("WKVC_TEST_SEED", std::random_device{}());
  const unsigned count = number_from("WKVC_SWEEP_LOWERED", 40);
  std::cout << "WKVC_TEST_SEED=" << seed << " WKVC_SWEEP_LOWERED=" << count << '\n' << std::flush;
  Sampler sampler(seed);
  for (unsigned i = 0; i < count; ++i) next_text(sampler);
}

TEST(Sweep, CompilesWhatIsNotRefused) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << why;
  const unsigned seed = number_from("WKVC_TEST_SEED", std::random_device{}());
  const unsigned count = number_from("WKVC_SWEEP_COUNT", 2);
  std::cout << "WKVC_TEST_SEED=" << seed << " WKVC_SWEEP_COUNT=" << count << '\n' << std::flush;
  Sampler sampler(seed);
  for (unsigned i = 0; i < count; ++i) {
    const auto [combination, text] = next_text(sampler);
    try {
      compile_cubin(text, combination.config.arch);
    } catch (const std::exception& error) {
      ADD_FAILURE() << options_of(combination) << "\n" << std::string_view(error.what()).substr(0, 600);
    }
  }
}

}  // namespace
}  // namespace wkvc::test
