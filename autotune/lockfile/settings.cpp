#include "autotune/lockfile/settings.h"

#include <mlir/IR/MLIRContext.h>

#include <algorithm>
#include <functional>
#include <ranges>
#include <utility>
#include <vector>

#include "autotune/preferences/preferences.h"
#include "autotune/shipped.h"
#include "codegen/config/config.h"
#include "codegen/config/fields.h"
#include "codegen/decays.h"
#include "codegen/rec/Dependence.h"
#include "codegen/target/Target.h"
#include "runtime/base/hash.h"
#include "runtime/error.h"
#include "runtime/version.h"

namespace wkvc {
namespace {

// The dtype that outputs are stored in.
DType io_of(rec::RecurrenceOp recurrence) {
  for (auto output : recurrence.getBody().getOps<rec::OutputOp>()) return rec::dtype_of(output.getDtype());
  user_error("'{}' has no output to tune for", recurrence.getSymName().str());
}

// Returns the tuned options that a configuration sets.
auto given_in(const Config& config) {
  return config_options() | std::views::filter([&config](const ConfigOption& option) {
           return option.recorded == Recorded::tuned && is_set(option, config);
         });
}

// Copies the tuned fields that a configuration sets.
void copy_tuned(const Config& from, Config& to) {
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    if (option.recorded == Recorded::tuned && is_set(field, from)) copy_field(field, from, to);
  });
}

// Returns `settings` with the tuned fields that `config` sets.
Config beside_given(const Config& config, Config settings) {
  copy_tuned(config, settings);
  return settings;
}

// Returns the answer of a kernel without scales to a question; false for heads that have no such kernel by themselves.
template <class Question>
bool answered(Question question, const Source& source, Config config) {
  config.scales = "guarded";
  try {
    return question(source, config);
  } catch (const UserError&) {
    return false;
  }
}

// Returns whether chunks of 32 have factors that f16 holds, which plain kernels of bf16 contractions have, too.
bool has_bounded_factors(const Source& source, Config config) {
  config.chunk = 32;
  config.mma = "f16";
  return answered(std::not_fn(may_decay_steeply), source, config);
}

// Returns what settings depend on: of narrow heads whether a matrix takes the state through a token, and no more.
Transition transition_of(rec::RecurrenceOp recurrence, const Source& source, const Config& config) {
  Transition transition{.is_matrix = rec::contracts_state(recurrence)};
  if (!sm_90a.is_wide(recurrence.getKeyDim())) return transition;
  if (config.pass != "forward" || transition.is_matrix)
    transition.decays_by_numbers = answered(decays_by_numbers, source, config);
  else
    transition.has_bounded_factors = has_bounded_factors(source, config);
  return transition;
}

// Returns the first of the likely settings that the recurrence has kernels for; `config` where there is none.
Config preferred(const Config& config, const Source& source, const Wanted& wanted, const Transition& transition,
                 std::int64_t sequences, const Compiles& compiles) {
  for (const Config& likely :
       preferred_settings(config, wanted.shape_class, transition, wanted.gpu.sm_count, sequences)) {
    Config settings = beside_given(config, likely);
    if (compiles(source, in_given_room(settings))) return settings;  // roomier ones come with schedules of their own
  }
  return config;
}

}  // namespace

const Lockfile& shipped_lockfile() {
  static const Lockfile lockfile = Lockfile::parse(shipped_lockfile_text, "the lockfile that wkvc comes with");
  return lockfile;
}

ShapeClass shape_class_of(rec::RecurrenceOp recurrence, const Config& config, LaunchSize size) {
  ShapeClass shape_class;
  shape_class.op = recurrence.getSymName().str();
  shape_class.pass = config.pass == "forward" ? "forward" : "both";
  shape_class.io = io_of(recurrence);
  shape_class.key_dim = static_cast<int>(recurrence.getKeyDim());
  shape_class.value_dim = static_cast<int>(recurrence.getValueDim());
  shape_class.accuracy = config.mma.empty() ? recurrence.getCompute().str() : config.mma;
  shape_class.size = size;
  return shape_class;
}

bool can_be_lowered(const Source& source, const Config& config) {
  try {
    lower_to(source, Stage::cuda, config);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

Settings settle(const Config& config, const Source& source, LaunchSize size, const Gpu& gpu, const Lockfile& lockfile,
                const Compiles& compiles, std::int64_t sequences) {
  if (source.stage != Stage::rec) return {config, "the text has settled its configuration"};
  if (gives_schedule(config)) return {config, "the configuration was given"};
  auto given = given_in(config);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = rec::parse(source.text, source.file, context);
  auto recurrence = rec::recurrence_of(*module);
  const Wanted wanted{.shape_class = shape_class_of(recurrence, config, size),
                      .recurrence = hex_hash(source.text),
                      .gpu = gpu,
                      .wkvc = std::string(wkvc_version())};
  if (const auto packed = preferred_when_packed(config, wanted.shape_class, sequences, gpu.sm_count)) {
    const Config settings = beside_given(config, *packed);
    if (compiles(source, settings)) return {settings, "sequences one behind the other: the model's choice"};
  }
  const Found found = lockfile.find(wanted);
  if (found.entry != nullptr) {
    Config settings = with_settings(config, found.entry->config);
    if (std::ranges::empty(given) || compiles(source, settings)) return {settings, explanation(wanted, found)};
  }
  return {preferred(config, source, wanted, transition_of(recurrence, source, config), sequences, compiles),
          found.entry == nullptr ? explanation(wanted, found) : "the model's choice beside what was given"};
}

Config without_settings(Config config) {
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    if (option.recorded == Recorded::tuned) copy_field(field, Config{}, config);
  });
  return config;
}

Config with_settings(const Config& config, const Config& entry) {
  Config settings = config;
  copy_tuned(entry, settings);
  return beside_given(config, settings);
}

std::vector<Config> likely_settings(const Config& config, const Source& source, LaunchSize size, int sm_count) {
  if (gives_schedule(config)) return {};
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = rec::parse(source.text, source.file, context);
  auto recurrence = rec::recurrence_of(*module);
  std::vector<Config> likely = preferred_settings(config, shape_class_of(recurrence, config, size),
                                                  transition_of(recurrence, source, config), sm_count);
  for (Config& settings : likely) settings = beside_given(config, settings);
  return likely;
}

}  // namespace wkvc
