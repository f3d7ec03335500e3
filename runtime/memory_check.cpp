#include "runtime/memory_check.h"

#include <string>

#include "runtime/error.h"

namespace wkvc {
namespace {

void check_reachable(const Backend& backend, const std::string& what, const void* data) {
  const std::string why_not = backend.why_unreachable(data);
  if (!why_not.empty()) user_error("{} begins at {}, which {}", what, fmt::ptr(data), why_not);
}

}  // namespace

void check_memory(const Backend& backend, const LaunchPlan& plan, std::span<const Tensor> tensors,
                  const LaunchSize& size) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].data == nullptr || element_count(tensors[i].shape) == 0) continue;
    check_reachable(backend, fmt::format("tensor \"{}\"", plan.tensors[i].spec.name), tensors[i].data);
  }
  if (size.map) check_reachable(backend, "the map of sequences", size.map->starts);
  if (size.slots) check_reachable(backend, "the memory of the slots of states", size.slots->slots);
}

}  // namespace wkvc
