#include "autotune/lockfile/settings.h"

#include <mlir/IR/MLIRContext.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "autotune/search/preferences.h"
#include "autotune/shipped.h"
#include "codegen/config/fields.h"
#include "codegen/rec/Dependence.h"
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

bool leaves_open(const Config& config) {
  return std::ranges::none_of(config_options(), [&](const ConfigOption& option) {
    return option.recorded == Recorded::tuned && is_set(option, config);
  });
}

// Returns the first of the likely settings that the recurrence has kernels for; `config` where there is none.
Config preferred(const Config& config, const Source& source, const Wanted& wanted, Transition transition,
                 std::int64_t sequences, const Compiles& compiles) {
  std::vector<Config> likely =
      preferred_settings(config, wanted.shape_class, transition, wanted.gpu.sm_count, sequences);
  const auto found = std::ranges::find_if(likely, [&](const Config& c) { return compiles(source, c); });
  if (found == likely.end()) return config;
  return std::move(*found);
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
  if (!leaves_open(config)) return {config, "the configuration was given"};
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = rec::parse(source.text, source.file, context);
  auto recurrence = rec::recurrence_of(*module);
  const Wanted wanted{.shape_class = shape_class_of(recurrence, config, size),
                      .recurrence = hex_hash(source.text),
                      .gpu = gpu,
                      .wkvc = std::string(wkvc_version())};
  const auto packed = preferred_when_packed(config, wanted.shape_class, sequences, gpu.sm_count);
  if (packed && compiles(source, *packed)) return {*packed, "sequences one behind the other: the model's choice"};
  const Found found = lockfile.find(wanted);
  Settings settings{config, explanation(wanted, found)};
  if (found.entry == nullptr) {
    const Transition transition = rec::contracts_state(recurrence) ? Transition::matrix : Transition::factors;
    settings.config = preferred(config, source, wanted, transition, sequences, compiles);
    return settings;
  }
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    if (option.recorded == Recorded::tuned) copy_field(field, found.entry->config, settings.config);
  });
  return settings;
}

}  // namespace wkvc
