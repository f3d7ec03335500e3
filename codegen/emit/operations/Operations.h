// Which function writes an operation of a kernel. Each group of operations is a file of this folder, which adds the
// group's functions to the table.
#pragma once

#include <functional>

#include "codegen/emit/KernelText.h"

namespace wkvc {

class OperationWriters {
 public:
  template <class Op>
  void add(void (*write)(KernelText&, Op)) {
    by_operation_[mlir::TypeID::get<Op>()] = [write](KernelText& text, mlir::Operation& op) {
      write(text, mlir::cast<Op>(op));
    };
  }
  void write(KernelText& text, mlir::Operation& op) const;

 private:
  llvm::DenseMap<mlir::TypeID, std::function<void(KernelText&, mlir::Operation&)>> by_operation_;
};

void add_buffers(OperationWriters& writers);
void add_contractions(OperationWriters& writers);
void add_control(OperationWriters& writers);
void add_guards(OperationWriters& writers);
void add_inputs(OperationWriters& writers);
void add_numbers(OperationWriters& writers);
void add_outputs(OperationWriters& writers);
void add_scales(OperationWriters& writers);
void add_states(OperationWriters& writers);
void add_sweeps(OperationWriters& writers);
void add_sync(OperationWriters& writers);
void add_tiles(OperationWriters& writers);

// Write operations, but for those that stand in the text of another one.
void write_all(KernelText& text, llvm::iterator_range<mlir::Block::iterator> ops);
void write_body(KernelText& text, mlir::Region& region);

// Writes how many tokens the current chunk has.
void write_valid(KernelText& text);

// Writes the buffers that a region of a kernel of teams uses, in the slot of the region's chunk. `memory`: the variable
// of that slot.
void write_buffers_of(KernelText& text, mlir::Region& region, const char* memory);

// Returns the variable whose memory a ring or buffer lies in: that of all rounds, or `slot`.
inline const char* memory_of(mlir::Value shared, const char* slot) { return warp::is_of_team(shared) ? "teams" : slot; }

// Writes where the blocks of a cluster meet: other blocks may arrive at this one's mbarriers, and send to it, until
// then.
void write_meeting(KernelText& text);

}  // namespace wkvc
