#include "autotune/search/trial.h"

#include <algorithm>
#include <utility>

#include "autotune/report/first_sentence.h"
#include "checking/occupancy.h"
#include "runtime/base/side_by_side.h"
#include "runtime/cache/cubin_cache.h"
#include "runtime/error.h"
#include "runtime/manifest/joint_manifest.h"

namespace wkvc {
namespace {

Trial without_kernels(const Config& config, std::string fault) {
  Trial trial;
  trial.config = config;
  trial.fault = std::move(fault);
  return trial;
}

}  // namespace

KernelUse Trial::use() const {
  KernelUse use;
  use.blocks_per_sm = kernels.empty() ? 0 : 32;
  for (const KernelFacts& kernel : kernels) {
    const std::int64_t shared = kernel.manifest.shared_bytes + kernel.usage.static_shared;
    use.shared_bytes = std::max(use.shared_bytes, shared);
    use.registers = std::max(use.registers, kernel.usage.registers);
    use.spill_bytes = std::max(use.spill_bytes, kernel.usage.spill_stores);
    use.blocks_per_sm =
        std::min(use.blocks_per_sm, occupancy_of(kernel.usage.registers, kernel.manifest.warps, shared).blocks);
  }
  return use;
}

Program Trial::load(Target target) const { return Program::load(text, target); }

Runnable Trial::runnable(Passes passes) const { return {text, passes, joint_manifest(manifests_from(text))}; }

Trial trial_of(Config config, std::string text) {
  Trial trial;
  trial.config = std::move(config);
  trial.text = std::move(text);
  const std::vector<Manifest> manifests = manifests_from(trial.text);
  const std::vector<CubinResult> compiled = cached_cubins(trial.text, manifests);
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    const std::string& kernel = manifests[i].kernel;
    trial.kernels.push_back({manifests[i], usage_from(compiled[i].log, kernel), code_bytes(compiled[i].cubin, kernel)});
  }
  return trial;
}

Trial tried(const Source& source, const Config& config) {
  try {
    return trial_of(config, lower_to(source, Stage::cuda, config));
  } catch (const UserError& error) {
    return without_kernels(config, first_sentence(error.what()));
  } catch (const InternalError& error) {
    return without_kernels(config, "a fault of wkvc, please report it: " + first_sentence(error.what()));
  }
}

}  // namespace wkvc
