// The forms of a state: as a kernel's tensors hold the state, and as the program carries it from chunk to chunk.
#pragma once

#include "codegen/passes/chunk_to_warp/BuildContext.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"

namespace wkvc {

class StateForms {
 public:
  // `saved`: the dtype of saved states.
  StateForms(const BuildContext& context, mlir::Type saved) : c_(context), saved_(saved) {}

  // In place of the saved states. `first`: the tensor of the state before a group's first chunk; empty: that one.
  void load_from(llvm::StringRef tensor, llvm::StringRef first) { tensor_ = tensor, first_ = first; }
  llvm::StringRef tensor() const { return tensor_; }
  llvm::StringRef first() const { return first_; }

  // Returns the state that the forward pass saved, or that was recomputed, in the dtype of saved states.
  mlir::Value load_saved() const;
  mlir::Value widened(mlir::Value saved) const;   // to f32
  mlir::Value as_taken(mlir::Value saved) const;  // by the program
  // The state that is carried from chunk to chunk, as it comes into the program and goes out. `of_state`: but for rows
  // of a summary's map.
  mlir::Value as_carried(mlir::Value state) const;
  mlir::Value as_stored(mlir::Value state, bool of_state = false) const;

 private:
  // The result is called after x, with the suffix.
  mlir::Value times_power(mlir::Value x, int64_t exponent, const char* suffix, bool of_state = false) const;
  int64_t carried_exponent() const;

  const BuildContext& c_;
  mlir::Type saved_;
  llvm::StringRef tensor_ = kSavedStates, first_;
};

}  // namespace wkvc
