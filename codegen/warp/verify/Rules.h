// The parts of a kernel's verification, by what they are about: each is asked about one operation after the other.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringMap.h>

#include <limits>
#include <vector>

#include "codegen/rec/Limits.h"
#include "codegen/warp/Warp.h"
#include "codegen/warp/verify/Accesses.h"
#include "codegen/warp/verify/Phases.h"

namespace wkvc::warp {

using rec::signed_value;

inline mlir::Type element_of(mlir::Value x) { return mlir::cast<TileType>(x.getType()).getElementType(); }

inline bool in_range(uint64_t attribute, int64_t lo, int64_t hi) {
  return signed_value(attribute) >= lo && signed_value(attribute) <= hi;
}

// That an operation is what belongs in a place, and nowhere else.
template <class Op>
mlir::LogicalResult expect_where(mlir::Operation* op, bool is_place, llvm::StringRef place) {
  if (mlir::isa<Op>(op) == is_place) return mlir::success();
  if (mlir::isa<Op>(op)) return op->emitOpError("belongs where ") << place;
  return op->emitOpError("is where ") << Op::getOperationName() << " belongs: where " << place;
}

// A kernel's tensors, by name.
struct Tensors {
  explicit Tensors(KernelOp kernel);

  llvm::StringMap<llvm::StringRef> roles, dtypes, dims;
};

// Tensors are of the role that an operation is for and of the dtype that it moves, and what lies in them has their
// sizes, from which offsets follow.
mlir::LogicalResult verify_tensor(KernelOp kernel, const Tensors& tensors, mlir::Operation* op);
mlir::LogicalResult verify_extents(KernelOp kernel, const Tensors& tensors, mlir::Operation* op);

// Channels whose slots go from role to role.
mlir::LogicalResult verify_handover(KernelOp kernel, mlir::Operation* op);

// In a kernel of teams, what chunks have of their own is the teams' to do; else there is nothing of teams.
mlir::LogicalResult verify_teams(KernelOp kernel, mlir::Operation* op);

// Buffers are few enough to follow. Warps that share memory have barriers between them, and buffers the lifetimes that
// follow from those.
mlir::LogicalResult verify_places(KernelOp kernel);
mlir::LogicalResult verify_races(KernelOp kernel);
mlir::LogicalResult verify_lifetimes(KernelOp kernel);

// What values in registers carry with them: a scale, or a row that they are still to be multiplied by.
class CarriedRules {
 public:
  mlir::LogicalResult verify(mlir::Operation* op);

 private:
  mlir::LogicalResult verify_sums(mlir::Operation* op);
  mlir::LogicalResult verify_decaying(mlir::Operation* op);

  llvm::DenseSet<mlir::Value> sums_;      // that carry a scale
  llvm::DenseSet<mlir::Value> decaying_;  // states
};

// The bytes of shared memory that buffers take, and the phases they are in use.
class SharedBytes {
 public:
  void add(mlir::Operation* op);
  mlir::LogicalResult verify(KernelOp kernel) const;

 private:
  struct Span {
    mlir::Operation* op;
    int64_t begin, end;
    int64_t from = 0, to = std::numeric_limits<int64_t>::max();

    bool overlaps(const Span& other) const {
      return begin < other.end && other.begin < end && live_together(*this, other);
    }
  };

  template <class Op>
  void add(Op op, int64_t offset, int64_t bytes);
  static mlir::LogicalResult verify_span(const Span& span, const Bytes& memory);
  static Bytes memory_of(mlir::Operation* declaration, KernelOp kernel);
  mlir::LogicalResult verify_apart() const;

  std::vector<Span> spans_;
};

}  // namespace wkvc::warp
