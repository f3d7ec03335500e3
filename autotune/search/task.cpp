#include "autotune/search/task.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "autotune/lockfile/config_json.h"
#include "autotune/lockfile/settings.h"
#include "autotune/search/order.h"
#include "codegen/config/config.h"
#include "codegen/target/Target.h"
#include "runtime/base/hash.h"
#include "runtime/cuda/driver.h"
#include "runtime/error.h"
#include "runtime/nvrtc/nvrtc.h"
#include "runtime/version.h"

namespace wkvc {
namespace {

std::string driver_text(const Gpu& gpu) { return gpu.name.empty() ? "" : driver_version(); }

}  // namespace

Gpu gpu_here(Target target, const std::string& arch) {
  if (target == Target::host) return {.name = "", .arch = arch, .sm_count = sm_90a.sm_count};
  const DeviceProperties properties = Device::current().properties();
  return {.name = properties.name, .arch = arch, .sm_count = properties.sm_count};
}

TuningTask::TuningTask(TuningRequest request)
    : request_(std::move(request)), context_(std::make_unique<mlir::MLIRContext>()) {
  if (request_.source.stage != Stage::rec) user_error("tune takes an operator or a text of the rec stage");
  if (request_.sizes.empty()) user_error("no shape to tune for: give --shapes B,T,H");
  request_.config = with_forward(std::move(request_.config));
  module_ = rec::parse(request_.source.text, request_.source.file, *context_);
  request_.config.key_dim = static_cast<int>(recurrence().getKeyDim());
  request_.config.value_dim = static_cast<int>(recurrence().getValueDim());
  for (const LaunchSize& size : request_.sizes)
    untuned_.push_back(settle(request_.config, request_.source, size, request_.gpu, request_.defaults).config);
  order_ = configurations_to_try();
}

// Likely configurations of all sizes come before the space.
std::vector<Config> TuningTask::configurations_to_try() const {
  std::vector<Config> first = untuned_;
  const auto add = [&](std::vector<Config> more) { std::ranges::move(more, std::back_inserter(first)); };
  for (const LockEntry& entry : request_.known)
    if (is_of_this(entry)) add({with_settings(request_.config, entry.config)});
  if (request_.alone) return in_turn(std::move(first), {});
  for (const LaunchSize& size : request_.sizes)
    add(likely_settings(request_.config, request_.source, size, request_.gpu.sm_count));
  return in_turn(std::move(first), search_space(request_.config, request_.limits));
}

bool TuningTask::is_of_this(const LockEntry& entry) const {
  return entry.gpu.name == request_.gpu.name && entry.recurrence == hex_hash(request_.source.text) &&
         same_kind(entry.shape_class, shape_class(request_.sizes.front()));
}

const Config& TuningTask::untuned_at(LaunchSize size) const {
  return untuned_.at(static_cast<std::size_t>(std::ranges::find(request_.sizes, size) - request_.sizes.begin()));
}

rec::RecurrenceOp TuningTask::recurrence() const { return rec::recurrence_of(*module_); }

ShapeClass TuningTask::shape_class(LaunchSize size) const {
  return shape_class_of(recurrence(), request_.config, size);
}

TuningRun TuningTask::run() const {
  TuningRun run;
  for (const LaunchSize& size : request_.sizes) run.shape_classes.push_back(shape_class(size));
  std::string space;
  for (const Config& config : order_) space += config_text(config) + "\n";
  run.recurrence = hex_hash(request_.source.text);
  run.space = hex_hash(space);
  run.gpu = request_.gpu;
  run.wkvc = wkvc_version();
  run.nvrtc = nvrtc_version();
  run.driver = driver_text(request_.gpu);
  run.seed = request_.seed;
  run.inputs = request_.inputs;
  return run;
}

Validation TuningTask::validation(const Trial& trial, LaunchSize size) const {
  return {recurrence(), trial.runnable(passes()), size, request_.seed};
}

Evidence TuningTask::evidence(std::size_t tried) const {
  return {.wkvc = std::string(wkvc_version()),
          .nvrtc = nvrtc_version(),
          .driver = driver_text(request_.gpu),
          .date = timestamp(std::chrono::system_clock::now()),
          .candidates = static_cast<std::int64_t>(tried),
          .seed = request_.seed,
          .outputs = ""};
}

LockEntry TuningTask::entry(const Candidate& best, double copy_ms, std::size_t tried) const {
  LockEntry entry;
  entry.shape_class = shape_class(best.size);
  entry.gpu = request_.gpu;
  entry.recurrence = hex_hash(request_.source.text);
  entry.config = best.config;
  entry.ms = best.ms.value_or(0);
  entry.ratio_to_copy = entry.ms / copy_ms;
  entry.errors = best.errors;
  entry.evidence = evidence(tried);
  entry.evidence.outputs = best.outputs;
  return entry;
}

}  // namespace wkvc
