// Scales with which contractions are added up as they are.
//
// Every f16 operand has a scale, and a contraction that of its operands' product. Where the contractions that a sum
// gathers have different ones, each is multiplied by its own. But where the state carries a scale s from chunk to chunk
// and everything else is there before the state comes (teams), the others can be chosen: a C×C matrix keeps the scale
// of the product that it is, what updates the state together with an operand of scale y is rounded in the scale s/y,
// and a sum of which operands are made is rounded as it is. That scales agree follows from what the terms of a sum have
// in common: what they are products of. What is rounded so fits f16 if s is large enough, which `fits` is for.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>

#include <map>
#include <optional>
#include <vector>

#include "codegen/chunk/ChunkBuilder.h"
#include "codegen/passes/place/Placement.h"

namespace wkvc {

// A product of powers of the scales of rounded values and of the state's; of those that share one, the first's. In the
// program's order, so that texts are the same every time.
struct ProgramOrder {
  bool operator()(mlir::Operation* a, mlir::Operation* b) const { return a != b && a->isBeforeInBlock(b); }
};
using ScaleProduct = std::map<mlir::Operation*, int, ProgramOrder>;

inline constexpr double kHalfOfF16 = 32768;     // of its largest number
inline constexpr double kLargestOperand = 256;  // of its scale, see scale_for

// An operand is at most `bound` and is to be at most half of what f16 holds times `unit`.
struct Fit {
  Bound bound;
  ScaleProduct unit;
};

// Of what one state meets as it is taken through a chunk.
struct SumScales {
  mlir::Operation* state = nullptr;
  std::vector<chunk::RoundOp> roundings;  // of the state itself
  // All warps share the state's scale: what is made of it is contracted over all of its rows, later.
  bool of_block = false;
  llvm::DenseSet<mlir::Operation*> products;  // contractions that are added up as they are
  llvm::DenseSet<mlir::Operation*> as_is;     // roundings of sums, in the scale they have
  // Roundings in the state's scale over that of another operand, which is rounded with a bound; and operands that are
  // brought there from a scale of their own where the state meets them, as others read them, too: what has no place
  // beside the state may be all there is for those.
  llvm::MapVector<mlir::Operation*, chunk::RoundOp> beside, brought;
  std::vector<Fit> fits;
};

// None of a state where the terms of a sum have nothing in common, or an operand has no bound. The placement is one
// behind teams.
std::vector<SumScales> find_sum_scales(const Placement& placement);

// If it is of use: operands made of inputs get scales that leave room for contractions of two of them to be rounded as
// they are, and those that are get no others. `warps` share a chunk.
void make_room_for_products(chunk::ProgramOp program, int warps);

}  // namespace wkvc
