// Which rings of a kernel are copied together, and by which warps.
#pragma once

#include <llvm/ADT/MapVector.h>

#include <string>
#include <vector>

#include "codegen/warp/Warp.h"

namespace wkvc {

// Rings with tiles of one kind, which one object copies. The first turn has the first ring of each warp, the second
// turn the second ring of each warp that has one, …
struct AlikeRings {
  std::vector<std::vector<warp::RingOp>> turns;

  warp::RingOp first() const { return turns.front().front(); }
};

// Returns the rings of a row that ends with this one.
std::vector<AlikeRings> alike_rings(warp::RingOp last);

// Template arguments of a ring: dtype, shape, stages.
std::string kind_of(warp::RingOp ring);

// The slots to which the largest element of a ring's chunk goes; null if nobody needs it.
mlir::Value maximum_of(warp::RingOp ring);

// A variable that copies rings, which lie in one place, and one of them.
struct Copier {
  std::string variable;
  warp::RingOp ring;
};

class Copiers {
 public:
  void add(const AlikeRings& rings, const std::string& variable);

  // Returns the copiers of these rings. All of their rings for which `needed` holds have to be among these; else a
  // UserError says that they are not `what` together.
  std::vector<Copier> of(const std::vector<warp::RingOp>& rings, const char* what,
                         llvm::function_ref<bool(warp::RingOp)> needed) const;

 private:
  llvm::MapVector<mlir::Operation*, std::string> by_ring_;
};

}  // namespace wkvc
