// The state of chunk → warp while it builds a kernel: which warp value holds which chunk value, and where.
#pragma once

#include <llvm/ADT/MapVector.h>

#include <optional>

#include "codegen/passes/chunk_to_warp/ChunkCopies.h"
#include "codegen/passes/chunk_to_warp/KernelBuffers.h"
#include "codegen/passes/place/Triangles.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

// An operand of a contraction: a register tile or a shared tile, and its scale if it has one outside itself.
struct Operand {
  mlir::Value tile;
  mlir::Value scale;
  mlir::Value column;  // of a shared tile: the first of the 16 meant
};

// A number alone: a constant that is no tile's. Null if it is none.
chunk::ConstantOp number(mlir::Value x);

class WarpBuilder {
 public:
  // `saved` and `fits` as ChunkCopies has them.
  WarpBuilder(const PlacedProgram& of, mlir::OpBuilder& builder, const Plan& plan, mlir::Type saved, bool fits);
  WarpBuilder(const WarpBuilder&) = delete;  // its copies refer to its buffers

  KernelBuffers& buffers() { return buffers_; }
  ChunkCopies& copies() { return copies_; }
  void begin_chunk();      // publish maxima, barrier, scales; copies ahead, if not in a later phase
  void phase(int number);  // everything of one phase
  void end_chunk();        // copies that the last phase leaves room for
  // By a team: what its chunk needs no state for, once its inputs are there, and its slot is free if it has turns;
  // `when_read`: once they were read.
  void prepare_round(llvm::function_ref<void()> when_read = {});
  // Through a chunk that was prepared: the only state, or of a backward program the saved one or its own.
  void take_state(bool saved = false);
  void finish_chunk();  // by a team: what it makes of the states
  bool shares_maximum(bool saved) const { return static_cast<bool>(maximum_of_state(saved)); }  // of its state
  // Whether all warps meet as they begin to take a state: where they publish its maximum, which no team reads later.
  bool meets_first(bool saved) const;
  // Whether a state carries a scale as it goes through rounds, and whether all warps have the same.
  bool state_carries_scale(bool saved) const;
  bool state_shares_scale(bool saved) const;
  bool takes_both_together() const { return placement_.takes_both_together(); }  // its states, through a round
  bool takes_both_at_once() const { return placement_.takes_both_at_once(); }
  bool has_sums() const { return !of_.shared.sums().empty(); }
  bool has_finish() const { return phases_after_rows() > 0; }
  // Whether one of a team's warps may not go on to what follows it while others finish: they read what copies replace,
  // or the maxima of the next chunk, where no barrier is between.
  bool ends_together() const {
    return (copies_.has(Copied::late) && !of_.shared.copies_last()) || phases_after_rows() == 1;
  }
  int phases() const { return placement_.phases(); }
  void set_state(mlir::Value tile, bool with_scale = false);  // with one: if state_carries_scale
  void set_unit(mlir::Value unit) { unit_ = unit; }           // of gradients that come in and go out
  mlir::Value next_state() const { return next_; }
  void start_sums();  // before the loop: sums over all chunks begin with zero
  void end_sums();    // after it: to their workspaces

 private:
  void load_tokens();  // inputs of one number a token, for matrices, before anything is waited for
  void wait_for_round();
  void prepare_chunk(llvm::function_ref<void()> when_read);
  using Registers = llvm::DenseMap<mlir::Value, mlir::Value>;

  int phases_after_rows() const { return placement_.phases() - placement_.first_after_rows(); }
  void begin_inputs(llvm::function_ref<bool(mlir::Operation*)> readers);
  void publish_inputs(llvm::function_ref<bool(const PlannedBuffer&)> rings);
  mlir::Value new_scale(chunk::RoundOp round);
  // Of this chunk, or of its states; those that some of these read.
  void create_scales(bool of_states, llvm::function_ref<bool(mlir::Operation*)> readers);
  void create_own_scales();
  const SumScales* sum_scales_of(mlir::Operation* state) const;  // null if it has none
  bool is_product(mlir::Operation* dot) const;
  bool is_as_is(mlir::Operation* round) const;
  std::optional<int> number_warp();
  void store_numbers();
  void load_numbers();
  void store_fits(const SumScales& sums);
  void round_state();
  void leave_scales();
  mlir::Value fitted(const SumScales& sums, const Fit& fit, llvm::ArrayRef<std::string> product);
  mlir::Value known_scale(mlir::Operation* round);
  mlir::Operation* state_of(bool saved) const;     // null if there is none
  mlir::Value maximum_of_state(bool saved) const;  // null if it is no scale's
  void publish_state(bool saved);                  // if its maximum is a scale's
  template <class F>
  void for_each_sum(F f);
  Registers& current_registers();
  mlir::Value begin_slab(warp::SlabsOp loop);
  llvm::DenseSet<mlir::Operation*> ops_of_next();
  void slabs(const std::vector<mlir::Operation*>& ops);
  void slabs(const std::vector<mlir::Operation*>& ops, Axis axis);
  void begin_share();
  void matrices(const std::vector<mlir::Operation*>& ops);
  void rows(const std::vector<mlir::Operation*>& ops);
  void compute_all(const std::vector<mlir::Operation*>& ops);
  void compute(mlir::Operation* op);
  mlir::Value computed(mlir::Operation* op);
  mlir::Value by_function(mlir::Operation* op);
  mlir::Value widened(mlir::Value operand);
  void store(chunk::OutputOp op, mlir::Value x);
  mlir::Value accumulated(mlir::Operation* sum) const;
  void publish(mlir::Value value, mlir::Value x);
  mlir::Value filled(chunk::ConstantOp op, mlir::VectorType type);
  mlir::Value loaded(mlir::Value value);
  bool has_unit(mlir::Value input) const;                   // that is a gradient
  mlir::Value over_unit(mlir::Value input, mlir::Value x);  // of its f32 values x
  mlir::Value times_unit(mlir::Value result);               // a gradient, in registers, as it goes out
  bool is_causal();
  mlir::StringAttr triangle(mlir::Value operand, int64_t contracted);
  mlir::ArrayAttr factors(chunk::DotOp op);
  mlir::Value dot(chunk::DotOp op, mlir::Value accumulator);
  mlir::Value columns_of_share(mlir::Value value);
  mlir::Value columns_in_registers(mlir::Value value);
  mlir::Value column_dots(chunk::ColumnDotsOp op);
  Operand operand(mlir::Value value, bool contracts_columns);
  Operand shared_operand(mlir::Value value);
  mlir::Value brought(mlir::Value operand);
  mlir::Value rounded(mlir::Value x, mlir::Type element);  // without a scale
  mlir::Value round(chunk::RoundOp op);
  mlir::Value binary(mlir::Operation* op, const char* function);
  mlir::Value tile(mlir::Value value);  // in registers, for elementwise use by the current owner
  bool carries_scale(mlir::Value x) const { return scaled_.contains(x); }
  bool is_computed(mlir::Value value) const;
  bool is_read_again(mlir::Value value) const;
  mlir::Value shared_tile(mlir::Value value);  // as a whole, in shared memory
  mlir::Value scale_of(mlir::Value value);     // of a rounded value with a bound; null if none
  bool keeps_scale(llvm::StringRef function, mlir::ValueRange x) const;
  mlir::Value call(llvm::StringRef function, mlir::ValueRange x, mlir::Type type, std::optional<float> constant = {});
  mlir::VectorType type_of(mlir::Value value) const;
  bool is_column_vector(mlir::Value value) const;
  bool lies_transposed(mlir::Value value) const;  // in registers of the current owner
  bool is_partial(mlir::Value value) const { return is_partial_sum(value.getDefiningOp(), placement_); }

  // A new operation; takes any of its builders' arguments.
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(b_, program_.getLoc(), std::forward<Args>(args)...);
  }

  const PlacedProgram& of_;
  chunk::ProgramOp program_;
  const Placement& placement_;
  mlir::OpBuilder& b_;
  Plan plan_;
  Triangles triangles_;
  KernelBuffers buffers_;
  ChunkCopies copies_;
  llvm::DenseSet<mlir::Value> scaled_, rounded_;      // sums that carry a scale, those that were rounded in it
  llvm::DenseMap<mlir::Value, mlir::Value> current_;  // input → its tile of this chunk
  llvm::DenseMap<mlir::Value, mlir::Value> scales_;

  Owner owner_ = Owner::rows;
  int phase_ = 0, warp_ = 0;                          // warp_: of a matrix
  const SumScales* taken_ = nullptr;                  // of the state that is taken through a chunk
  mlir::Value slope_, offset_;                        // of what is made with it
  mlir::Value state_operand_;                         // that was rounded in its scale
  mlir::Value column_;                                // first column of the current slab
  Axis slab_axis_ = Axis::key;                        // and what its columns are
  Registers local_;                                   // of the slab or matrix being built
  llvm::MapVector<mlir::Value, mlir::Value> tokens_;  // inputs of one number a token, loaded early
  Registers held_;                                    // operands of a share, from before its phase
  Registers registers_;                               // of value rows
  Registers brought_;                                 // operands of theirs, to the state's scale
  mlir::Value state_, next_;
  mlir::Value unit_;  // null: none
};

}  // namespace wkvc
