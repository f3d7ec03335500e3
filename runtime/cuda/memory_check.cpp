#include "runtime/cuda/memory_check.h"

#include <string>

#include "runtime/error.h"

namespace wkvc {
namespace {

// `name_of` says what begins at `data`; it is asked only where that is out of reach, so that a launch allocates
// nothing.
template <class NameOf>
void check_reachable(const Backend& backend, const void* data, const NameOf& name_of) {
  const std::string why_not = backend.why_unreachable(data);
  if (!why_not.empty()) user_error("{} begins at {}, which {}", name_of(), fmt::ptr(data), why_not);
}

}  // namespace

void check_memory(const Backend& backend, const LaunchPlan& plan, std::span<const Tensor> tensors,
                  const LaunchSize& size) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].data == nullptr || element_count(tensors[i].shape) == 0) continue;
    check_reachable(backend, tensors[i].data, [&] { return fmt::format("tensor \"{}\"", plan.tensors[i].spec.name); });
  }
  if (size.map) check_reachable(backend, size.map->starts, [] { return "the map of sequences"; });
  if (size.slots) check_reachable(backend, size.slots->slots, [] { return "the memory of the slots of states"; });
}

}  // namespace wkvc
