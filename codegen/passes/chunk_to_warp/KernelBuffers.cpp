#include "codegen/passes/chunk_to_warp/KernelBuffers.h"

#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

Value KernelBuffers::find(Value of) const {
  const PlannedBuffer* buffer = plan_.find(of);
  return buffer ? value(*buffer) : Value();
}

Value KernelBuffers::maximum(llvm::StringRef name) const {
  const auto found = plan_.maxima().find(name.str());
  return found == plan_.maxima().end() ? Value() : value(found->second);
}

Value KernelBuffers::number(const std::string& name) const {
  const auto found = plan_.numbers().find(name);
  return found == plan_.numbers().end() ? Value() : value(found->second);
}

Value KernelBuffers::staged() const { return plan_.staged() ? value(*plan_.staged()) : Value(); }

void KernelBuffers::declare_floats(const PlannedBuffer& buffer, const std::string& name) {
  const SharedBuffer& space = *buffer.space;
  Value floats = create<warp::FloatsOp>(buffer.type, channel_of(space), space.offset, space.from, space.to);
  set_name(floats, name);
  declared_[&buffer] = floats;
}

void KernelBuffers::declare_tile(const PlannedBuffer& buffer) {
  const SharedBuffer& space = *buffer.space;
  auto scale = buffer.scale ? b_.getI64IntegerAttr(buffer.scale->offset) : IntegerAttr();
  auto slabs = buffer.slabs ? warp::SlabsAttr::get(b_.getContext(), *buffer.slabs) : warp::SlabsAttr();
  Value tile = create<warp::BufferOp>(buffer.type, channel_of(space), b_.getI64IntegerAttr(space.offset), scale, slabs,
                                      b_.getI64IntegerAttr(space.from), b_.getI64IntegerAttr(space.to));
  set_name(tile, space.name + "_shared");
  declared_[&buffer] = tile;
}

void KernelBuffers::declare() {
  for (auto& [name, buffer] : plan_.maxima()) declare_floats(buffer, buffer.space->name);
  for (auto& [name, buffer] : plan_.numbers()) declare_floats(buffer, buffer.space->name);
  for (auto& [op, buffer] : plan_.sums()) declare_floats(buffer, buffer.space->name);
  if (const PlannedBuffer* staged = plan_.staged()) {
    const SharedBuffer& space = *staged->space;
    declared_[staged] = create<warp::StagedOp>(staged->type, space.offset, space.from, space.to);
    set_name(declared_[staged], space.name);
  }
  for (auto& [op, buffer] : plan_.scratch()) declare_floats(buffer, buffer.space->name);
  for (auto& [value, buffer] : plan_.values()) {
    if (buffer.type.getRank() == 1)
      declare_floats(buffer, buffer.space->name + "_shared");
    else
      declare_tile(buffer);
  }
}

void KernelBuffers::take_rings() {
  const auto name_of_input = [](Value value) { return cast<chunk::InputOp>(value.getDefiningOp()).getSym(); };
  for (auto& [value, ring] : plan_.rings())
    for (auto& [other, of_other] : other_->plan_.rings())
      if (name_of_input(value) == name_of_input(other)) declared_[&ring] = other_->value(of_other);
}

void KernelBuffers::declare_ring(chunk::InputOp input, const PlannedBuffer& ring, bool everywhere) {
  const auto phase = [&](int number) { return everywhere ? IntegerAttr() : b_.getI64IntegerAttr(number); };
  const auto unit = [&](bool is) { return is ? b_.getUnitAttr() : UnitAttr(); };
  Value value = create<warp::RingOp>(
      ring.type, input.getSymAttr(), channel_of(*ring.space), b_.getI64IntegerAttr(ring.space->offset),
      b_.getI64IntegerAttr(ring.stages), b_.getI64IntegerAttr(ring.warp), unit(program_.getBackward()),
      unit(ring.exchanged), unit(ring.copied != Copied::late), phase(ring.space->from), phase(ring.space->to));
  set_name(value, ring.space->name);
  declared_[&ring] = value;
}

void KernelBuffers::declare_rings(bool everywhere) {
  if (other_) return take_rings();
  for (auto& [value, ring] : plan_.rings()) declare_ring(cast<chunk::InputOp>(value.getDefiningOp()), ring, everywhere);
}

}  // namespace wkvc
