// Where operations are built: their owner and phase, and the part of a chunk's values that the owner has.
#pragma once

#include "codegen/passes/place/Placement.h"
#include "codegen/passes/place/Slabs.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

struct Site {
  explicit Site(const Placement& of) : placement(of) {}

  void begin_rows() { owner = Owner::rows; }
  void begin_matrix(int of_warp) { owner = Owner::matrix, warp = of_warp; }
  void begin_slab(Axis along) { owner = Owner::slab, axis = along; }

  // Returns the type of a value's tile here.
  warp::TileType type_of(mlir::Value value) const;
  // Returns how tiles in registers lie here.
  Layout layout() const;
  // Returns whether tiles have the value's columns as rows, as operands of value rows do.
  bool lies_transposed(mlir::Value value) const;
  bool is_column_vector(mlir::Value value) const;  // one number for each token
  bool is_partial(mlir::Value value) const { return is_partial_sum(value.getDefiningOp(), placement); }

  // Returns whether the current slab has some of the value's columns.
  bool is_along_slab(mlir::Value value) const;
  mlir::Value slab_column() const { return owner == Owner::slab ? column : mlir::Value(); }
  mlir::Value column_of(mlir::Value value) const { return is_along_slab(value) ? column : mlir::Value(); }
  int64_t width() const { return slab_width(phase, axis, placement); }  // of a slab, in columns

  const Placement& placement;
  Owner owner = Owner::rows;
  int phase = 0;
  int warp = 0;           // of a matrix
  Axis axis = Axis::key;  // of a slab's columns
  mlir::Value column;     // the first one of the current slab
};

}  // namespace wkvc
