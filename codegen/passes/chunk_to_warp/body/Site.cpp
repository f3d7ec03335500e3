#include "codegen/passes/chunk_to_warp/body/Site.h"

using namespace mlir;

namespace wkvc {

bool Site::is_column_vector(Value value) const {
  const Space& space = placement.space(value);
  return space.rows == Axis::token && space.columns == Axis::one;
}

Layout Site::layout() const {
  return owner == Owner::slab && in_strips(phase, placement) ? Layout::strips : Layout::fragments;
}

bool Site::lies_transposed(Value value) const {
  return owner == Owner::rows && placement.space(value).columns == Axis::value;
}

bool Site::is_along_slab(Value value) const { return owner == Owner::slab && placement.space(value).columns == axis; }

warp::TileType Site::type_of(Value value) const {
  int64_t r = chunk::rows(value), c = chunk::columns(value);
  const Space& space = placement.space(value);
  // Beside tiles of value rows × tokens the tokens lie in a row.
  if (is_column_vector(value) && owner == Owner::rows) std::swap(r, c);
  if (space.rows == Axis::value) r = 16;
  if (is_along_slab(value)) {
    c = width();
  } else if (space.columns == Axis::value) {
    c = 16;
    if (lies_transposed(value)) std::swap(r, c);
  }
  return warp::TileType::get({r, c}, chunk::element(value), layout());
}

}  // namespace wkvc
