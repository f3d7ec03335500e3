// Who uses a channel, and what becomes part of an expression.
#include <llvm/ADT/STLExtras.h>

#include "codegen/nest/Nest.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

// Returns the roles, in order, that have such an operation on the channel.
template <class... Ops>
SmallVector<RoleOp> roles_with(ChannelOp channel) {
  SmallVector<RoleOp> roles;
  for (Operation* user : channel.getChannel().getUsers())
    if (isa<Ops...>(user) && !llvm::is_contained(roles, role_of(user))) roles.push_back(role_of(user));
  llvm::sort(roles, [](RoleOp x, RoleOp y) { return x->isBeforeInBlock(y); });
  return roles;
}

// Returns whether a tile is released between two operations of a block.
bool is_released_between(Operation* first, Operation* last) {
  for (Operation* op = first; op != last; op = op->getNextNode())
    if (isa<ReleaseOp>(op)) return true;
  return false;
}

// Returns the only use of a result, in its block and before any release; null where there is none.
Operation* only_user(Operation* op) {
  if (!op->getResult(0).hasOneUse()) return nullptr;
  Operation* const user = *op->getResult(0).user_begin();
  return user->getBlock() == op->getBlock() && !is_released_between(op, user) ? user : nullptr;
}

}  // namespace

Value channel_of(Value operand) {
  if (auto transpose = operand.getDefiningOp<TransposeOp>()) return channel_of(transpose.getTile());
  if (auto part = operand.getDefiningOp<PartOp>()) return channel_of(part.getTile());
  auto get = operand.getDefiningOp<GetOp>();
  return get ? get.getChannel() : Value();
}

TileType tile_of(Value channel) { return cast<ChannelType>(channel.getType()).getTile(); }

SmallVector<RoleOp> producers_of(ChannelOp channel) { return roles_with<PutOp, LoadOp>(channel); }

SmallVector<RoleOp> consumers_of(ChannelOp channel) { return roles_with<GetOp>(channel); }

ChannelOp replacement_of(ChannelOp channel) {
  for (Operation* user : channel.getChannel().getUsers())
    if (auto over = dyn_cast<ChannelOp>(user)) return over;
  return {};
}

int64_t all_warps(RoleOp role) { return static_cast<int64_t>(role.getCopies() * role.getWarps()); }

int64_t first_warp_of(RoleOp role) {
  int64_t first = 0;
  for (RoleOp other : role->getParentOfType<KernelOp>().getBody().getOps<RoleOp>()) {
    if (other == role) break;
    first += all_warps(other);
  }
  return first;
}

bool is_inlined(Operation* op) {
  if (isa<ConstantOp, RowOp, PartOp, TransposeOp, StackOp, LevelOp, SetBlocksOp>(op)) return true;
  if (!isa<ElementOp, ElementwiseOp, DecayedPairsOp, ConvertOp, DiagonalOp>(op)) return false;
  Operation* const user = only_user(op);
  if (user == nullptr) return false;
  if (isa<ConvertOp>(op)) return isa<PutOp, TransposeOp>(user);
  return isa<ElementwiseOp, ConvertOp, DecayedPairsOp, CumsumOp>(user);
}

}  // namespace wkvc::nest
