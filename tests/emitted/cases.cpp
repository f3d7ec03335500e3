#include "tests/emitted/cases.h"

#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include "codegen/config/config.h"
#include "dsl/registry.h"
#include "runtime/error.h"
#include "tests/lower/recurrences.h"
#include "tests/mutants/shipped.h"

namespace wkvc::test {
namespace {

class Cases {
 public:
  // Adds a case, once.
  void add(const std::string& op, const Source& source, const Config& config) {
    std::string name = op + ": " + config_key(config);
    if (names_.insert(name).second) cases_.push_back({std::move(name), source, config});
  }

  void add(const Definition& definition, const Config& config) {
    Source source = rec_source(definition, config);
    source.lines.clear();  // messages then name lines of the text
    add(definition.name, source, config);
  }

  std::vector<EmittedCase> take() { return std::move(cases_); }

 private:
  std::vector<EmittedCase> cases_;
  std::set<std::string> names_;
};

// The configuration for a pass, without what is nothing to that pass.
Config with_pass(Config config, const std::string& pass) {
  config.pass = pass;
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    const bool second = option.second && &field == &*option.second;
    const bool forward = option.of == OfKernels::forward || (option.of == OfKernels::each && !second);
    const bool nothing = pass == "forward" ? is_of_backward(option, field) : pass == "backward" && forward;
    if (nothing) copy_field(field, Config{}, config);
  });
  return config;
}

// M follows N in some options. So a backward pass alone has to say what N was.
Config for_backward(Config config) { return with_pass(completed(std::move(config)), "backward"); }

void add_passes(Cases& cases, const Definition& definition, const Config& config) {
  cases.add(definition, with_pass(config, "forward"));
  if (config.pass == "forward") return;
  cases.add(definition, config);
  cases.add(definition, for_backward(config));
}

const Definition& builtin(const std::string& op) {
  static const Registry registry = Registry::builtin();
  return registry.find(op);
}

// Every shipped configuration, for heads of all sizes that any is shipped for and for one that is not square.
void add_shipped(Cases& cases) {
  for (const ShippedConfig& shipped : shipped_configs())
    for (const auto& [keys, values] : {std::pair{64, 64}, std::pair{128, 128}, std::pair{64, 32}}) {
      Config config = shipped.config;
      config.key_dim = keys;
      config.value_dim = values;
      add_passes(cases, builtin(shipped.op), config);
    }
}

// Options one by one, and together as nobody ships them.
std::vector<Config> varied_configs() {
  return {
      {.pass = "both"},
      {.mma = "bf16", .pass = "both"},
      {.mma = "f32", .pass = "both"},
      {.mma = "bf16x3", .pass = "both"},
      {.io = "f32", .mma = "bf16x3", .teams = 2, .backward_teams = 2, .rounds = 2, .pass = "both"},
      {.io = "f32", .pass = "both"},
      {.key_dim = 32, .value_dim = 48, .pass = "both"},
      {.key_dim = 128, .value_dim = 128, .pass = "both"},
      {.key_dim = 128, .value_dim = 128, .backward_teams = 2, .pass = "both", .save_every = 64, .scales = "guarded"},
      {.chunk = 32, .pass = "both"},
      {.chunk = 1},
      {.states_every = 1, .chunk = 1},
      {.state = "bf16", .state_layout = "kv", .states_every = 64},
      {.states_every = 32, .teams = 2, .rounds = 2, .segments = 2, .scales = "guarded"},
      {.sram = 80000, .pass = "both"},
      {.blocks = 2, .backward_blocks = 1, .pass = "both"},
      {.segments = 4, .backward_segments = 2, .pass = "both"},
      {.pass = "both", .save_every = 128, .saved = "bf16"},
      {.pass = "both", .save_every = 16, .saved = "f16"},
      {.pass = "both", .gradients = {"k", "v"}},
      {.pass = "both", .scales = "guarded"},
      {.teams = 2, .backward_teams = 2, .pass = "both"},
      {.teams = 4, .backward_teams = 4, .pass = "both", .saved = "f16"},
      {.teams = 2, .backward_teams = 2, .pass = "both", .scales = "guarded"},
      {.teams = 2, .rounds = 2},
      {.blocks = 1, .teams = 4, .rounds = 2, .pass = "forward", .scales = "guarded"},
      {.teams = 3, .rounds = 2, .cluster = 2, .segments = 2},
      {.teams = 3, .rounds = 2, .cluster = 2, .segments = 2, .scales = "guarded"},
      {.teams = 2, .backward_teams = 2, .segments = 4, .pass = "both", .save_every = 64, .scales = "guarded"},
  };
}

// What the compiler refuses: messages are texts, too.
std::vector<Config> refused_configs() {
  return {
      {.chunk = 48, .pass = "both", .save_every = 64},
      {.key_dim = 256, .value_dim = 256, .chunk = 64, .pass = "both"},
      {.teams = 3, .pass = "forward"},
      {.teams = 15, .rounds = 2, .pass = "forward", .scales = "guarded"},
      {.teams = 2, .backward_teams = 2, .pass = "both", .save_every = 96},
      {.blocks = 9, .pass = "forward"},
      {.teams = 3, .rounds = 2, .cluster = 8},
  };
}

void add_builtin(Cases& cases) {
  for (const char* op : {"rwkv7", "rwkv7_logw", "rwkv6"}) {
    const Definition& definition = builtin(op);
    for (const Config& config : varied_configs()) cases.add(definition, config);
    for (const Config& config : refused_configs()) cases.add(definition, config);
  }
}

void add_recurrences(Cases& cases) {
  for (const Definition& definition : recurrences()) {
    cases.add(definition, {.pass = "both"});
    cases.add(definition, {.teams = 2, .rounds = 2, .scales = "guarded"});
    cases.add(definition, {.segments = 2, .pass = "both", .scales = "guarded"});
    cases.add(definition, {.key_dim = 32, .value_dim = 32, .backward_teams = 2, .pass = "both", .scales = "guarded"});
  }
  cases.add(recurrence_named("gated_delta_net"),
            {.key_dim = 128, .value_dim = 128, .teams = 2, .rounds = 2, .scales = "guarded"});
  for (const char* op : {"gated_delta_net", "simple_gla"})
    cases.add(builtin(op), {.key_dim = 128, .value_dim = 128, .form = "warpgroups"});
}

// The text of the stage rec that the example prints.
Source example() {
  const std::unique_ptr<FILE, int (*)(FILE*)> out(popen(WKVC_EXAMPLE " emit own_delta_net --stage rec", "r"), pclose);
  if (!out) throw std::runtime_error("the example does not run: " WKVC_EXAMPLE);
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), out.get())) text.append(part.data(), size);
  return source_from(text);
}

void add_example(Cases& cases) {
  const Source source = example();
  for (const Config& config : varied_configs()) {
    if (config.io.empty() && config.key_dim == 0 && config.gradients.empty())
      cases.add("examples/own_delta_net", source, config);
  }
}

}  // namespace

std::vector<EmittedCase> shipped_cases() {
  Cases cases;
  add_shipped(cases);
  return cases.take();
}

std::vector<EmittedCase> emitted_cases() {
  Cases cases;
  add_shipped(cases);
  add_builtin(cases);
  add_recurrences(cases);
  add_example(cases);
  return cases.take();
}

std::string emitted_text(const EmittedCase& of) {
  try {
    return lower_to(of.source, Stage::cuda, of.config);
  } catch (const UserError& error) {
    return std::string("refused: ") + error.what() + "\n";
  }
}

}  // namespace wkvc::test
