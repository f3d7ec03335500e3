#include "checking/refusals.h"

#include <fmt/format.h>

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

std::vector<std::string> refusal_texts(const std::vector<Refusals>& refusals) {
  std::vector<std::string> texts;
  for (const Refusals& kernel : refusals)
    if (kernel.refused > 0)
      texts.push_back(fmt::format("{:<16} {} of {} blocks had numbers that do not fit f16 and ran again with scales",
                                  kernel.tensor, kernel.refused, kernel.blocks));
  return texts;
}

}  // namespace wkvc
