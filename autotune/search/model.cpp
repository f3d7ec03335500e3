#include "autotune/search/model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "checking/occupancy.h"
#include "checking/traffic.h"

namespace wkvc {
namespace {

// What one block goes through in its loop: chunks of its segment; segments, where a kernel combines their summaries; or
// batches, where one sums over them.
double turns(const Manifest& manifest, LaunchSize size) {
  if (manifest.grid == Grid::head) return static_cast<double>(size.batches);
  const double chunks = std::ceil(static_cast<double>(size.tokens) / manifest.chunk / manifest.segments);
  if (manifest.segments == 1) return chunks;
  const bool reads_tokens = std::ranges::any_of(
      manifest.tensors, [](const TensorSpec& spec) { return std::ranges::find(spec.dims, "T") != spec.dims.end(); });
  return reads_tokens ? chunks : manifest.segments;
}

double kernel_ms(const KernelFacts& kernel, LaunchSize size, const GpuFacts& gpu) {
  const Manifest& manifest = kernel.manifest;
  const std::int64_t shared = manifest.shared_bytes + kernel.usage.static_shared;
  const int resident = std::max(1, occupancy_of(kernel.usage.registers, manifest.warps, shared).blocks);
  const std::int64_t sequences = manifest.grid == Grid::head ? size.heads : size.batches * size.heads;
  const double blocks = static_cast<double>(sequences * manifest.segments * manifest.head_blocks().of_segment);
  const double slots = static_cast<double>(resident) * gpu.sm_count;
  const double waves = std::ceil(blocks / slots);
  const double together = std::min<double>(resident, std::ceil(blocks / gpu.sm_count));
  const double warps = std::max(1.0, together * manifest.warps / sm_90a.sm.schedulers);
  const double instructions = static_cast<double>(kernel.code_bytes) / sm_90a.instruction_bytes;
  const double of_instruction = std::max(sm_90a.cycles_alone, sm_90a.cycles_together * warps);
  const double cycles = waves * turns(manifest, size) * instructions * of_instruction;
  const double bytes = static_cast<double>(bytes_moved(std::array{manifest}, size));
  return 1e3 * std::max(cycles / gpu.clock_hz, bytes / gpu.bytes_per_second);
}

}  // namespace

double predicted_ms(std::span<const KernelFacts> kernels, LaunchSize size, const GpuFacts& gpu) {
  double ms = 0;
  for (const KernelFacts& kernel : kernels) {
    if (!kernel.manifest.refused) ms += kernel_ms(kernel, size, gpu);
  }
  return ms;
}

}  // namespace wkvc
