#include "tests/mutants/padded.h"

namespace wkvc::test {

LaunchSize padded(LaunchSize size) { return {size.batches, size.tokens + kTokensPastTail, size.heads}; }

std::vector<Tensor> views_of(TensorMap& memory, const Manifest& manifest, LaunchSize size) {
  std::vector<Tensor> views;
  for (const TensorSpec& spec : manifest.tensors) {
    Tensor view = memory.at(spec.name).view();
    view.shape = shape_of(spec, manifest, size);
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace wkvc::test
