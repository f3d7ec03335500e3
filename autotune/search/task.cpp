#include "autotune/search/task.h"

#include <algorithm>
#include <utility>

#include "autotune/lockfile/config_json.h"
#include "autotune/lockfile/settings.h"
#include "codegen/config/config.h"
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
  if (target == Target::host) return {.name = "", .arch = arch, .sm_count = GpuFacts().sm_count};
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
  space_ = request_.alone ? std::vector{request_.config} : search_space(request_.config, request_.limits);
}

rec::RecurrenceOp TuningTask::recurrence() const { return rec::recurrence_of(*module_); }

ShapeClass TuningTask::shape_class(LaunchSize size) const {
  return shape_class_of(recurrence(), request_.config, size);
}

TuningRun TuningTask::run_on(const Gpu& gpu) const {
  TuningRun run;
  for (const LaunchSize& size : request_.sizes) run.shape_classes.push_back(shape_class(size));
  std::string space;
  for (const Config& config : space_) space += config_text(config) + "\n";
  run.recurrence = hex_hash(request_.source.text);
  run.space = hex_hash(space);
  run.gpu = gpu;
  run.wkvc = wkvc_version();
  run.nvrtc = nvrtc_version();
  run.driver = driver_text(gpu);
  run.seed = request_.seed;
  return run;
}

Validation TuningTask::validation(const Trial& trial) const {
  return {recurrence(), trial.runnable(passes()), request_.seed};
}

Evidence TuningTask::evidence(const Gpu& gpu, std::size_t tried) const {
  return {.wkvc = std::string(wkvc_version()),
          .nvrtc = nvrtc_version(),
          .driver = driver_text(gpu),
          .date = timestamp(std::chrono::system_clock::now()),
          .candidates = static_cast<std::int64_t>(tried),
          .seed = request_.seed,
          .outputs = ""};
}

LockEntry TuningTask::entry(const Candidate& best, const Gpu& gpu, double copy_ms, std::size_t tried) const {
  LockEntry entry;
  entry.shape_class = shape_class(best.size);
  entry.gpu = gpu;
  entry.recurrence = hex_hash(request_.source.text);
  entry.config = best.config;
  entry.ms = best.ms.value_or(0);
  entry.ratio_to_copy = entry.ms / copy_ms;
  entry.errors = best.errors;
  entry.evidence = evidence(gpu, tried);
  entry.evidence.outputs = best.outputs;
  return entry;
}

}  // namespace wkvc
