#include "autotune/lockfile/settings.h"

#include <mlir/IR/MLIRContext.h>

#include <algorithm>

#include "autotune/search/space.h"
#include "autotune/shipped.h"
#include "codegen/config/fields.h"
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

// Returns the segments where no entry says how many: blocks enough for each multiprocessor where sequences are few.
int likely_segments(LaunchSize size, const Gpu& gpu) {
  constexpr int blocks = sm_90a.choices.segment_blocks, least = sm_90a.choices.least_segments;
  int segments = 1;
  while (2 * segments <= most_segments && can_be_cut(size, 2 * segments, gpu.sm_count, blocks)) segments *= 2;
  return segments < least ? 0 : segments;
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
  shape_class.accuracy = recurrence.getCompute().str();
  shape_class.size = size;
  return shape_class;
}

Settings settle(const Config& config, const Source& source, LaunchSize size, const Gpu& gpu, const Lockfile& lockfile) {
  if (source.stage != Stage::rec) return {config, "the text has settled its configuration"};
  if (!leaves_open(config)) return {config, "the configuration was given"};
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = rec::parse(source.text, source.file, context);
  const Wanted wanted{.shape_class = shape_class_of(rec::recurrence_of(*module), config, size),
                      .recurrence = hex_hash(source.text),
                      .gpu = gpu,
                      .wkvc = std::string(wkvc_version())};
  const Found found = lockfile.find(wanted);
  Settings settings{config, explanation(wanted, found)};
  if (found.entry == nullptr) {
    settings.config.segments = likely_segments(size, gpu);
    // For shorter sequences the second launch takes longer than what scales cost.
    if (size.tokens >= sm_90a.choices.guarded_tokens) settings.config.scales = "guarded";
    return settings;
  }
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    if (option.recorded == Recorded::tuned) copy_field(field, found.entry->config, settings.config);
  });
  return settings;
}

}  // namespace wkvc
