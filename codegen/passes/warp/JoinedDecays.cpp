#include "codegen/passes/warp/JoinedDecays.h"

#include <llvm/ADT/SetVector.h>
#include <mlir/IR/Builders.h>

#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

namespace {

// The products by rows with which a chunk begins and ends, in a loop over a round.
struct Decays {
  warp::SweepOp loop;
  warp::CallOp begin, end;
};

// The load of the whole row that x is multiplied by, if it is, and that is for this product alone.
warp::LoadVectorOp row_of(warp::CallOp product) {
  if (!product || product.getFunction() != "mul" || product.getX().size() != 2) return {};
  auto load = product.getX()[1].getDefiningOp<warp::LoadVectorOp>();
  const bool whole = load && load->hasOneUse() && !load.getColumn() && !load.getParts() && !load.getOf();
  return whole && cast<warp::TileType>(load.getType()).getDimSize(0) == 1 ? load : warp::LoadVectorOp();
}

std::optional<Decays> decays_of(warp::SweepOp loop) {
  Value state = loop.getState();
  if (!state || !state.hasOneUse()) return {};
  auto begin = dyn_cast<warp::CallOp>(*state.user_begin());
  auto end = loop.getNext().getDefiningOp<warp::CallOp>();
  if (!row_of(begin) || begin.getX()[0] != state || !row_of(end) || !end->hasOneUse()) return {};
  return Decays{loop, begin, end};
}

// In the order of tokens: of the chunk's first ones and of its last.
Value first_row(Decays decays) { return row_of(decays.loop.getBackward() ? decays.end : decays.begin).getFrom(); }
Value last_row(Decays decays) { return row_of(decays.loop.getBackward() ? decays.begin : decays.end).getFrom(); }

// The part of a team in `rounds` that stores the row, if nothing else does, and nothing but these loops reads it.
warp::TeamOp team_that_stores(Value row, Block& outer, llvm::ArrayRef<Decays> all) {
  const auto is_of_loops = [&](Operation* user) {
    return llvm::any_of(all, [&](Decays decays) { return row_of(decays.begin) == user || row_of(decays.end) == user; });
  };
  warp::TeamOp found;
  for (Operation* user : row.getUsers()) {
    if (is_of_loops(user)) continue;
    auto team = user->getParentOfType<warp::TeamOp>();
    if (!isa<warp::StoreVectorOp>(user) || !team || team->getBlock() != &outer || (found && found != team)) return {};
    found = team;
  }
  return found;
}

// Where the team's part goes on behind the barrier that follows all stores of the rows.
Block::iterator after_stores(warp::TeamOp team, llvm::ArrayRef<Value> rows) {
  Block& body = team.getBody().front();
  Operation* last = nullptr;
  for (Value row : rows)
    for (Operation* user : row.getUsers())
      if (Operation* op = body.findAncestorOpInBlock(*user); op && (!last || last->isBeforeInBlock(op))) last = op;
  return std::find_if(std::next(last->getIterator()), body.end(),
                      [](Operation& op) { return isa<warp::BarrierOp>(op); });
}

// What this part of a team's block reads of what is before it.
llvm::SetVector<Operation*> read_from_before(Block& body, Block::iterator begin) {
  llvm::SetVector<Operation*> read;
  for (Operation& op : llvm::make_range(begin, body.end()))
    op.walk([&](Operation* reader) {
      for (Value x : reader->getOperands())
        if (Operation* made = x.getDefiningOp(); made && made->getBlock() == &body && made->isBeforeInBlock(&*begin))
          read.insert(made);
    });
  return read;
}

// The rest of a team's part as a part of its own, with its own names for the tiles of inputs.
warp::TeamOp cut(warp::TeamOp team, Block::iterator begin, OpBuilder& b) {
  Block& body = team.getBody().front();
  auto inputs = read_from_before(body, begin);
  auto rest = warp::TeamOp::create(b, team.getLoc());
  Block& block = rest.getBody().emplaceBlock();
  block.getOperations().splice(block.end(), body.getOperations(), begin, body.end());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  for (Operation* input : inputs) {
    Operation* own = b.clone(*input);
    input->replaceUsesWithIf(own, [&](OpOperand& use) { return rest->isProperAncestor(use.getOwner()); });
    if (input->use_empty()) input->erase();
  }
  return rest;
}

// One that has nothing else to do; where all have, the last.
int free_warp(warp::TeamOp team, int warps) {
  for (int warp = warps - 1; warp > 0; --warp)
    if (llvm::none_of(team.getBody().getOps<warp::OnWarpOp>(),
                      [&](warp::OnWarpOp on) { return static_cast<int>(on.getWarp()) == warp; }))
      return warp;
  return warps - 1;
}

// The loop's state comes multiplied by the row that its first chunk begins with. Each chunk then ends with a joined
// row: forward that of its own slot, as it was joined in place, backward that of the next chunk.
void take_joined(Decays decays, Operation* before, OpBuilder& b) {
  auto [loop, begin, end] = decays;
  const bool backward = loop.getBackward();
  auto begin_load = row_of(begin), end_load = row_of(end);
  Value state = loop.getBody().getArgument(0), first = first_row(decays), last = last_row(decays);
  b.setInsertionPoint(before);
  Value row = warp::LoadVectorOp::create(
      b, loop.getLoc(), begin_load.getType(), begin_load.getFrom(), Value(), IntegerAttr(),
      warp::ChunkOfRoundAttr::get(b.getContext(), backward ? warp::ChunkOfRound::last : warp::ChunkOfRound::first));
  set_name(row, name_of(begin_load.getResult()));
  loop.setInit(
      warp::CallOp::create(b, loop.getLoc(), begin.getType(), "mul", ValueRange{loop.getInit(), row}, FloatAttr()));
  if (backward) {
    b.setInsertionPoint(end_load);
    end_load.replaceAllUsesWith(
        warp::LoadJoinedOp::create(b, loop.getLoc(), end_load.getType(), last, first).getResult());
    end_load.erase();
  }
  if (auto name = name_of(begin.getResult()); !name.empty()) set_name(state, name);
  begin.replaceAllUsesWith(state);
  begin.erase();
  begin_load.erase();
}

// What is joined of a round: the rows, and the barrier of the team that stores them, behind which it has.
struct Joint {
  Value first, last;
  warp::TeamOp team;
  Block::iterator barrier;
};

// None where the loops' rows are not the same, others read them, or there is no place for one more barrier of all.
std::optional<Joint> joint_of(Block& outer, llvm::ArrayRef<Decays> all) {
  const Value first = first_row(all.front()), last = last_row(all.front());
  if (first == last) return {};
  if (llvm::any_of(all, [&](Decays decays) { return first_row(decays) != first || last_row(decays) != last; }))
    return {};
  auto team = team_that_stores(last, outer, all);
  if (!team || team_that_stores(first, outer, all) != team) return {};
  Block& body = team.getBody().front();
  auto barrier = after_stores(team, {first, last});
  if (barrier == body.end()) return {};
  if (!llvm::all_of(read_from_before(body, std::next(barrier)), llvm::IsaPred<warp::CurrentOp>)) return {};
  return Joint{first, last, team, barrier};
}

void join_in_team(Joint joint, int warps, OpBuilder& b) {
  b.setInsertionPointAfter(joint.team);
  warp::BarrierOp::create(b, joint.team.getLoc());
  auto rest = cut(joint.team, std::next(joint.barrier), b);
  joint.barrier->erase();
  b.setInsertionPointToEnd(&rest.getBody().front());
  auto on = warp::OnWarpOp::create(b, rest.getLoc(), free_warp(rest, warps));
  b.setInsertionPointToEnd(&on.getBody().emplaceBlock());
  warp::JoinRowsOp::create(b, rest.getLoc(), joint.last, joint.first);
}

void join(Block& outer, int warps, OpBuilder& b) {
  llvm::SmallVector<Decays> all;
  for (auto loop : outer.getOps<warp::SweepOp>()) {
    auto decays = decays_of(loop);
    if (!decays) return;
    all.push_back(*decays);
  }
  auto joint = all.empty() ? std::nullopt : joint_of(outer, all);
  if (!joint) return;
  join_in_team(*joint, warps, b);
  Operation* before = nullptr;
  for (Decays decays : all) {
    if (!decays.loop.getBeside()) before = decays.loop;  // a loop beside another stays right behind it
    take_joined(decays, before, b);
  }
}

}  // namespace

void join_decays(warp::KernelOp kernel) {
  if (!kernel.getPlain() || !has_slots(kernel) || has_producers(kernel)) return;
  OpBuilder b(kernel.getContext());
  const int warps = static_cast<int>(warp::team_warps(kernel));
  kernel.walk([&](Operation* op) {
    auto loop = dyn_cast<warp::SweepOp>(op);
    if (isa<warp::AgainOp>(op) || (loop && loop.isOverRounds())) join(op->getRegion(0).front(), warps, b);
  });
}

}  // namespace wkvc
