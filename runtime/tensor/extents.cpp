#include "runtime/tensor/extents.h"

#include "runtime/error.h"

namespace wkvc {

void Extents::refuse(std::size_t rank) {
  user_error("a tensor of {} dimensions was given, at most {} are supported: reshape it", rank, max_rank);
}

}  // namespace wkvc
