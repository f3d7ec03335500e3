#include "codegen/emit/Samples.h"

#include <fmt/format.h>

namespace wkvc {

std::string sample_text(const NamedTensor& tensor, const Manifest& manifest, const std::string& tokens) {
  const char last = tensor.spec.dims.back()[0];
  const int columns = last == 'K' ? manifest.key_dim : last == 'V' ? manifest.value_dim : 1;
  return fmt::format("largest_of_sample<{}, {}>({}, block, {})", name_of(tensor.spec.dtype), columns, tensor.variable,
                     tokens);
}

}  // namespace wkvc
