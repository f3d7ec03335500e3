// What a chunk program reads from global memory ahead of its use: inputs through rings, saved states through the staged
// one.
#pragma once

#include <optional>

#include "codegen/passes/chunk_to_warp/KernelBuffers.h"

namespace wkvc {

class ChunkCopies {
 public:
  // `saved`: the dtype of saved states. `fits`: as warp::fits_kept says of them.
  ChunkCopies(const PlacedProgram& of, const KernelBuffers& buffers, mlir::OpBuilder& builder, mlir::Type saved,
              bool fits)
      : program_(of.program), placement_(of.placement), buffers_(buffers), b_(builder), saved_(saved), fits_(fits) {}

  // In place of the saved states, apart from the first of a group.
  void read_states_from(llvm::StringRef tensor, bool but_first) { kept_states_ = tensor, but_first_ = but_first; }

  // Before the loop: its first chunk's inputs, and the state if it is copied, too.
  void start(bool of_state);
  void start_next_group();  // in a group: the next one's first copies
  // A team copies all inputs but early ones for the round that it prepares.
  void start_round();
  // A team copies such inputs of its chunk so many after the current one; 0: of its first chunk.
  void start_ahead(Copied which, int ahead);
  // Teams that take a state through some rounds again copy for the next round that a team prepares, whichever it is.
  void start_next();
  bool has(Copied which) const;
  bool go_ahead();  // whether a chunk can follow another in its loop
  void wait();      // for the current chunk
  // In a chunk: a later one's, into rings whose places are free from there on.
  void start_later(Free since);
  bool has(Free since);

  // The phase in which one warp inverts a matrix and all others wait, if inputs have been read before it: then those
  // copy the chunk after the next in its place.
  std::optional<int> deep_phase();

  // The state that the forward pass saved, or that was recomputed; as it is stored, and as f32.
  mlir::Value load_saved();
  mlir::Value widened(mlir::Value saved);
  mlir::Value saved_state(mlir::Value saved);  // as the program takes it
  // The state that is carried from chunk to chunk, as it comes into the program and goes out. `of_state`: but for rows
  // of a summary's map.
  mlir::Value as_carried(mlir::Value state);
  mlir::Value as_stored(mlir::Value state, bool of_state = false);

 private:
  mlir::Value staged_chunk();
  // The result is called after x, with the suffix.
  mlir::Value times_power(mlir::Value x, int64_t exponent, const char* suffix, bool of_state = false);
  void copy_inputs(int ahead, bool next);
  using Which = llvm::function_ref<bool(Copied)>;
  void copy_some(Which which, int ahead, bool next);  // as one group

  // A new operation; takes any of its builders' arguments.
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(b_, program_.getLoc(), std::forward<Args>(args)...);
  }

  chunk::ProgramOp program_;
  const Placement& placement_;
  const KernelBuffers& buffers_;
  mlir::OpBuilder& b_;
  mlir::Type saved_;
  bool fits_;
  llvm::StringRef kept_states_ = "saved_states";
  bool but_first_ = false;
};

}  // namespace wkvc
