#include "codegen/emit/Copies.h"

#include "codegen/emit/Expressions.h"
#include "codegen/warp/Channels.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

std::string kind_of(warp::RingOp ring) {
  return fmt::format("{}, {}, {}", dtype_text(in_tensors(cast<warp::TileType>(ring.getType()).getElementType())),
                     shape_text(ring.getType()), ring.getStages());
}

// Returns whether rings have tiles of one kind, and are copied in one direction, at one time, to one place.
static bool are_copied_alike(warp::RingOp a, warp::RingOp b) {
  return kind_of(a) == kind_of(b) && a.getExchanged() == b.getExchanged() &&
         warp::channel_named_by(a) == warp::channel_named_by(b) && a.getEarly() == b.getEarly() &&
         a.getBackward() == b.getBackward();
}

static void add_to_turns(AlikeRings& alike, warp::RingOp ring) {
  const auto has_warp = [&](const std::vector<warp::RingOp>& turn) {
    return llvm::any_of(turn, [&](warp::RingOp other) { return other.getWarp() == ring.getWarp(); });
  };
  auto turn = llvm::find_if_not(alike.turns, has_warp);
  if (turn == alike.turns.end()) turn = alike.turns.insert(turn, std::vector<warp::RingOp>());
  turn->push_back(ring);
}

std::vector<AlikeRings> alike_rings(warp::RingOp last) {
  std::vector<warp::RingOp> row;
  for (Operation* op = last; isa_and_nonnull<warp::RingOp>(op); op = op->getPrevNode())
    row.push_back(cast<warp::RingOp>(op));
  std::vector<AlikeRings> kinds;
  for (warp::RingOp ring : llvm::reverse(row)) {
    auto alike = llvm::find_if(kinds, [&](const AlikeRings& kind) { return are_copied_alike(kind.first(), ring); });
    if (alike == kinds.end()) alike = kinds.insert(alike, AlikeRings());
    add_to_turns(*alike, ring);
  }
  return kinds;
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
