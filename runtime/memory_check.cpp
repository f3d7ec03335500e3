#include "runtime/memory_check.h"

#include "runtime/error.h"

namespace wkvc {

void check_memory(const Backend& backend, const LaunchPlan& plan, std::span<const Tensor> tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].data == nullptr || element_count(tensors[i].shape) == 0) continue;
    const std::string why_not = backend.why_unreachable(tensors[i].data);
    if (why_not.empty()) continue;
    user_error("tensor \"{}\" begins at {}, which {}", plan.tensors[i].spec.name, fmt::ptr(tensors[i].data), why_not);
  }
}

}  // namespace wkvc
