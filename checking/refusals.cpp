#include "checking/refusals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "runtime/manifest/refusal_names.h"

namespace wkvc {
namespace {

Refusals counted(const std::string& name, const HostTensor& flags) {
  Refusals found{name};
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const double flag = flags.get(i);
    found.blocks += std::isnan(flag) ? 0 : 1;
    found.refused += flag != 0 && !std::isnan(flag) ? 1 : 0;
  }
  return found;
}

// `on_host`: gives a tensor in host memory.
template <class Tensors, class OnHost>
std::vector<Refusals> all_counted(const Tensors& internals, OnHost on_host) {
  std::vector<Refusals> found;
  for (const auto& [name, tensor] : internals)
    if (is_of_refusals(name)) found.push_back(counted(name, on_host(tensor)));
  return found;
}

}  // namespace

std::vector<Refusals> refusals_of(const std::map<std::string, HostTensor>& internals) {
  return all_counted(internals, [](const HostTensor& tensor) -> const HostTensor& { return tensor; });
}

std::vector<Refusals> refusals_of(const std::map<std::string, DeviceTensor>& internals, StreamHandle stream) {
  return all_counted(internals, [&](const DeviceTensor& tensor) { return tensor.download(stream); });
}

const Refusals* refusing_many(std::span<const Refusals> refusals) {
  const auto found =
      std::ranges::find_if(refusals, [](const Refusals& kernel) { return 10 * kernel.refused > kernel.blocks; });
  return found == refusals.end() ? nullptr : &*found;
}

std::string warning_text(std::span<const Refusals> refusals, const std::string& magnitudes) {
  std::vector<std::string> kernels;
  for (const Refusals& kernel : refusals)
    if (kernel.refused > 0)
      kernels.push_back(fmt::format("{} of {} blocks ({})", kernel.refused, kernel.blocks, kernel.tensor));
  return fmt::format(
      "{} did not fit f16 and ran again with scales: times are of both kernels. A block refuses where the largest "
      "|elements| of inputs are below 0.03 or two of them multiply to less than 0.016, where a number passes 65504, "
      "and "
      "where gradients differ by more. Here {}. Bring inputs near 1, give --input FILE with tensors of your own, or "
      "--scales always",
      fmt::join(kernels, ", "), magnitudes);
}

std::vector<std::string> refusal_texts(std::span<const Refusals> refusals) {
  std::vector<std::string> texts;
  for (const Refusals& kernel : refusals)
    if (kernel.refused > 0)
      texts.push_back(fmt::format("{:<16} {} of {} blocks had numbers that do not fit f16 and ran again with scales",
                                  kernel.tensor, kernel.refused, kernel.blocks));
  return texts;
}

}  // namespace wkvc
