#include "runtime/launch/saved_row.h"

#include <cstddef>

#include "runtime/launch/launch_size.h"
#include "runtime/tensor/dtype.h"

namespace wkvc {

SavedRow saved_row(const TensorSpec& spec, const Manifest& manifest) {
  using Of = Dimension::Of;
  SavedRow row{.bytes = static_cast<std::int64_t>(size_of(spec.dtype))};
  for (std::size_t i = 0; i < spec.dims.size(); ++i) {
    const Dimension dimension = dimension_at(spec, i, manifest);
    if (dimension.of == Of::constant || dimension.of == Of::heads) row.bytes *= dimension.each;
    if (dimension.of == Of::saved) row.tokens = dimension.each;
  }
  return row;
}

}  // namespace wkvc
