// The state of chunk → warp while it builds a kernel: which warp value holds which chunk value, and where.
#pragma once

#include <llvm/ADT/MapVector.h>

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "codegen/lower/Placement.h"
#include "codegen/lower/SharedMemory.h"
#include "codegen/rec/Rec.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// A shared buffer being planned; its operation exists once offsets are known.
struct PlannedBuffer {
  SharedBuffer* space = nullptr;
  SharedBuffer* scale = nullptr;  // floats beside it, for the scale of an f16 tile or of each of its slabs
  llvm::StringRef slabs;          // "rows" or "columns" if it has one for each
  int stages = 1;                 // of a ring
  mlir::MemRefType type;
  mlir::Value value;
};

// An operand of a contraction: a register tile or a shared tile, and its scale if it has one outside itself.
struct Operand {
  mlir::Value tile;
  mlir::Value scale;
  mlir::Value column;  // of a shared tile: the first of the 16 meant
};

class WarpBuilder {
 public:
  // `warps`: of a block, one for each 16 value rows. `saved`: the dtype of saved states.
  // `spaces`: of the whole kernel, in which this program's phases begin with `first_phase`.
  WarpBuilder(chunk::ProgramOp program, mlir::OpBuilder& builder, int warps, mlir::Type saved,
              std::deque<SharedBuffer>& spaces, int first_phase);

  void plan_buffers();
  // Room for the state before the next chunk, copied ahead: whether there is a use for it. Right after it was planned
  // it may be dropped; then the state is read when it is needed.
  bool plan_staged_state();
  void drop_staged_state();
  void declare_buffers();               // the operations of all buffers but rings
  void declare_rings(bool everywhere);  // of one loop, or living in all phases
  void start_copies();                  // before the loop
  mlir::Value load_saved();             // the state that the forward pass saved
  void begin_chunk();                   // wait, publish maxima, barrier, copy ahead, scales
  void phase(int number);               // everything of one phase
  int phases() const { return placement_.phases(); }
  void set_state(mlir::Value tile) { state_ = tile; }
  void read_states_from(llvm::StringRef tensor) { kept_states_ = tensor; }
  mlir::Value next_state() const { return next_; }
  void keep_sums_until(int phase);  // of the kernel's last program
  void start_sums();                // before the loop: sums over all chunks begin with zero
  void end_sums();                  // after it: to their workspaces

 private:
  using Registers = llvm::DenseMap<mlir::Value, mlir::Value>;

  void plan_rings();
  mlir::Value new_scale(chunk::RoundOp round);
  void create_scales(bool of_states);  // of this chunk, or of its states
  void publish_states();
  void copy_ahead(int stages);
  void plan_values();
  void plan_maxima();
  void plan_sums();
  PlannedBuffer planned(mlir::Operation* op);
  mlir::MemRefType floats_type(int64_t count) const;
  SharedBuffer* reserve(const std::string& name, std::int64_t bytes, int from, int to);

  template <class F>
  void for_each_sum(F f);
  Registers& current_registers();
  mlir::Value begin_slab(warp::SlabsOp loop);
  void slabs(const std::vector<mlir::Operation*>& ops);
  void matrices(const std::vector<mlir::Operation*>& ops);
  void rows(const std::vector<mlir::Operation*>& ops);
  void compute_all(const std::vector<mlir::Operation*>& ops);
  void compute(mlir::Operation* op);
  mlir::Value computed(mlir::Operation* op);
  void store(chunk::OutputOp op, mlir::Value x);
  mlir::Value accumulated(mlir::Operation* sum) const;
  void publish(mlir::Value value, mlir::Value x);
  mlir::Value filled(chunk::ConstantOp op, mlir::VectorType type);
  mlir::Value loaded(mlir::Value value);
  mlir::Value dot(chunk::DotOp op, mlir::Value accumulator);
  Operand operand(mlir::Value value, bool contracts_columns);
  Operand shared_operand(mlir::Value value);
  mlir::Value round(chunk::RoundOp op);
  mlir::Value binary(mlir::Operation* op, const char* function);
  mlir::Value tile(mlir::Value value);  // in registers, for elementwise use by the current owner
  bool is_computed(mlir::Value value) const;
  mlir::Value shared_tile(mlir::Value value);  // as a whole, in shared memory
  mlir::Value scale_of(mlir::Value value);     // of a rounded value with a bound; null if none
  mlir::Value call(llvm::StringRef function, mlir::ValueRange x, mlir::Type type, std::optional<float> constant = {});
  mlir::VectorType type_of(mlir::Value value) const;
  bool is_column_vector(mlir::Value value) const;
  bool is_partial(mlir::Value value) const { return is_partial_sum(value.getDefiningOp(), placement_); }
  mlir::MemRefType shared_type(int64_t rows, int64_t columns, mlir::Type element) const;

  // A new operation; takes any of its builders' arguments.
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(b_, program_.getLoc(), std::forward<Args>(args)...);
  }

  chunk::ProgramOp program_;
  mlir::OpBuilder& b_;
  int warps_;
  mlir::Type saved_;
  llvm::StringRef kept_states_ = "saved_states";
  Placement placement_;
  std::deque<SharedBuffer>& spaces_;
  int first_phase_;
  llvm::MapVector<mlir::Value, PlannedBuffer> rings_, buffers_;
  std::map<std::string, PlannedBuffer> maxima_;
  std::optional<PlannedBuffer> staged_;                    // the state before the chunk, in backward programs
  llvm::MapVector<mlir::Operation*, PlannedBuffer> sums_;  // of parameters' gradients
  llvm::DenseMap<mlir::Value, mlir::Value> current_;       // input → its tile of this chunk
  llvm::DenseMap<mlir::Value, mlir::Value> scales_;

  Owner owner_ = Owner::rows;
  int phase_ = 0;
  mlir::Value column_;   // first column of the current slab
  Registers local_;      // of the slab or matrix being built
  Registers registers_;  // of value rows
  mlir::Value state_, next_;
};

// The workspace of a parameter's gradient before it is summed over batches.
std::string parts_name(chunk::AccumulateOp op);

}  // namespace wkvc
