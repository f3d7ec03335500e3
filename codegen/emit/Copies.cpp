#include "codegen/emit/Copies.h"

#include "codegen/emit/Expressions.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

std::string kind_of(warp::RingOp ring) {
  return fmt::format("{}, {}, {}", dtype_text(in_tensors(cast<MemRefType>(ring.getType()).getElementType())),
                     shape_text(ring.getType()), ring.getStages());
}

std::string layout_of(warp::RingOp ring) { return ring.getExchanged() ? ", Exchanged" : ""; }

std::vector<AlikeRings> alike_rings(warp::RingOp last) {
  std::vector<warp::RingOp> row;
  for (Operation* op = last; isa_and_nonnull<warp::RingOp>(op); op = op->getPrevNode())
    row.push_back(cast<warp::RingOp>(op));
  llvm::MapVector<std::pair<Attribute, int>, AlikeRings> kinds;  // by kind, direction, time and place
  for (warp::RingOp ring : llvm::reverse(row)) {
    std::string kind = kind_of(ring), layout = layout_of(ring);
    AlikeRings& alike = kinds[{StringAttr::get(ring.getContext(), kind + layout),
                               4 * warp::is_of_team(ring.getResult()) + 2 * ring.getEarly() + ring.getBackward()}];
    alike.kind = kind;
    alike.layout = layout;
    auto taken = [&](const std::vector<warp::RingOp>& turn) {
      return llvm::any_of(turn, [&](warp::RingOp other) { return other.getWarp() == ring.getWarp(); });
    };
    auto turn = llvm::find_if_not(alike.turns, taken);
    if (turn == alike.turns.end()) turn = alike.turns.insert(turn, std::vector<warp::RingOp>());
    turn->push_back(ring);
  }
  std::vector<AlikeRings> all;
  for (auto& [key, alike] : kinds) all.push_back(std::move(alike));
  return all;
}

Value maximum_of(warp::RingOp ring) {
  for (Operation* current : ring->getUsers())
    for (Operation* user : current->getUsers())
      if (auto publish = dyn_cast<warp::PublishMaxOp>(user)) return publish.getSlots();
  return {};
}

void Copiers::add(const AlikeRings& rings, const std::string& variable) {
  for (const std::vector<warp::RingOp>& turn : rings.turns)
    for (warp::RingOp ring : turn) by_ring_[ring] = variable;
}

std::vector<Copier> Copiers::of(const std::vector<warp::RingOp>& rings, const char* what,
                                llvm::function_ref<bool(warp::RingOp)> needed) const {
  std::vector<Copier> copiers;
  auto is_one = [&](const std::string& variable) {
    return llvm::any_of(copiers, [&](const Copier& copier) { return copier.variable == variable; });
  };
  for (warp::RingOp ring : rings)
    if (std::string variable = by_ring_.lookup(ring); !is_one(variable)) copiers.push_back({variable, ring});
  for (auto& [op, variable] : by_ring_) {
    auto ring = cast<warp::RingOp>(op);
    if (is_one(variable) && needed(ring) && !llvm::is_contained(rings, ring))
      user_error("kernel: rings with tiles of one kind are {} together, in a row; that of '{}' is missing", what,
                 ring.getTensor().str());
  }
  return copiers;
}

}  // namespace wkvc
