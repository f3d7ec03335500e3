#include "codegen/passes/chunk_to_nest/NestContext.h"

#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_nest/Refusal.h"

using namespace mlir;

namespace wkvc {

constexpr int64_t kPrepared = 2;  // slots of what helpers make

chunk::InputOp exact_input(Value value) {
  auto round = value.getDefiningOp<chunk::RoundOp>();
  auto widen = round ? round.getX().getDefiningOp<chunk::WidenOp>() : nullptr;
  return widen ? widen.getX().getDefiningOp<chunk::InputOp>() : nullptr;
}

Carried carried_of(Value value) {
  if (value.getDefiningOp<chunk::InputOp>()) return Carried::input;
  if (exact_input(value)) return Carried::exact_operand;
  auto round = value.getDefiningOp<chunk::RoundOp>();
  if (round && round.getX().getDefiningOp<chunk::TrilOp>()) return Carried::pairs;
  if (round && round.getX().getDefiningOp<chunk::UnitLowerInverseOp>()) return Carried::inverse;
  refuse_form(value.getDefiningOp(),
              "operands are inputs as they are, products of pairs of tokens and their inverse, not '{}'",
              name_of(value).str());
}

Value add_channel(NestContext& context, llvm::StringRef name, nest::TileType tile, int64_t depth, Value over) {
  const OpBuilder::InsertionGuard guard(context.b);
  Block& body = context.kernel.getBody().front();
  const auto roles = body.getOps<nest::RoleOp>();
  roles.empty() ? context.b.setInsertionPointToEnd(&body) : context.b.setInsertionPoint(*roles.begin());
  auto channel = context.create<nest::ChannelOp>(nest::ChannelType::get(context.b.getContext(), tile), depth,
                                                 /*across=*/false, over, IntegerAttr(), IntegerAttr());
  set_name(channel.getChannel(), name);
  return channel.getChannel();
}

Value NestContext::channel_of(Value value) {
  if (auto found = channels.find(value); found != channels.end()) return found->second;
  const auto columns = chunk::columns(value);
  const Type f16 = b.getF16Type();
  Value made;
  switch (carried_of(value)) {
    case Carried::input:
      made = add_channel(*this, chunk::symbol(value.getDefiningOp()),
                         tile(chunk(), columns, chunk::element(value), Layout::swizzled), kAhead);
      break;
    case Carried::exact_operand: {
      auto input = exact_input(value);
      Value over = channel_of(input.getResult());
      made = chunk::element(input.getResult()) == chunk::element(value)
                 ? over
                 : add_channel(*this, (input.getSym() + "16").str(),
                               tile(chunk(), columns, chunk::element(value), Layout::swizzled), kAhead, over);
      break;
    }
    case Carried::pairs:
    case Carried::inverse:
      made = add_channel(*this, name_of(value.getDefiningOp()->getOperand(0)),
                         tile(chunk(), chunk(), f16, Layout::swizzled), kPrepared);
      break;
  }
  return channels[value] = made;
}

}  // namespace wkvc
