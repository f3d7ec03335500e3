// How decays enter a chunk program. Of one number a token: as a factor of each pair of tokens. Else e^±L factored
// around the chunk's middle where their range allows it, or exactly, with factors that never exceed 1. Where f32 has
// the range, and 16-bit operands do not, pairs alone are factored, around a number, with operands of f32's range. In
// f32, and without scales, around a number instead of the middle row: no factor of a token depends on tokens behind it.
// Then chunks take the state decayed by that number: it is multiplied by a power of two as it comes into the kernel,
// and by the inverse as it leaves.
#pragma once

#include <map>
#include <optional>

#include "codegen/rec_to_chunk/Affine.h"

namespace wkvc {

enum class DecayPath { none, pairwise, anchored, wide, exact };

struct DecayPlan {
  DecayPath path = DecayPath::none;
  int chunk = 16;
  double exponent = 0;   // anchored, wide: the largest |L − L_middle|, or |L − anchor|
  double growth = 1;     // anchored: the largest decay over half a chunk
  bool checked = false;  // anchored: by a range that nothing says they keep to; where they don't, values become NaN
  std::optional<int64_t> anchor = std::nullopt;  // the number in place of L_middle, in units of log 2; always if wide
};

// Chooses path and chunk. `next` tells the range of one token's log decay; messages name what scales the state.
// `gradients`: they are asked for, too.
DecayPlan plan_decay(const MatrixForm& next, const std::string& compute, bool gradients, int requested_chunk);
// Of the state in a program that decays it by the plan's number; null for none.
mlir::IntegerAttr state_exponent(const DecayPlan& plan, mlir::Builder& builder);
// For a program without scales, which may refuse what it does not hold; none if it is the same. In place of the exact
// path, and of the wide one for a range that inputs seldom fill, as if decays were moderate.
std::optional<DecayPlan> plan_of_plain(const MatrixForm& next, const DecayPlan& plan);

class Decay {
 public:
  Decay(ChunkBuilder& builder, DecayPlan plan, const MatrixForm& next, int64_t key_dim);

  // What q reads of the state before the chunk, decayed up to the token: with the token's decay if q reads after the
  // update. C×V.
  mlir::Value read(mlir::Value S0, mlir::Value q, bool after);
  mlir::Value write(mlir::Value k);  // k∘e^−L, up to the factor that `finish` applies
  // Lower triangular read_i · write_j: inclusive for reads after the update, strict before.
  mlir::Value pair(mlir::Value q, bool after, mlir::Value k);
  mlir::Value finish(mlir::Value S0, mlir::ValueRange writes);  // the state after the chunk

 private:
  // Sums of log decays inside blocks of some number of tokens: of those up to each token and with it, of those before
  // it and of those behind it. No value is a sum of nothing.
  struct BlockSums {
    mlir::Value through, before, behind;
  };

  // x of a read times one number a token: the decay of the token itself aside, which says `decayed`.
  struct Read {
    mlir::Value x, coefficient;  // no value: 1
    bool decayed;
  };

  // The decays of a token, as a read after the update, a read before it, or a write has them.
  struct Factors {
    mlir::Value after, before, write;

    mlir::Value of_read(bool is_after) const { return is_after ? after : before; }
  };

  Factors chunk_ends();
  void sum_pairs();
  mlir::Value decayed_read(mlir::Value q, bool after);
  Read parts_of(mlir::Value q, bool after);
  mlir::Value read_decayed(mlir::Value S0, mlir::Value q, bool after);
  mlir::Value decayed_product(const Read& parts, mlir::Value k);
  void bound_pairs(mlir::Value pairs, const Read& parts, mlir::Value k);
  static std::optional<double> largest_coefficient(const Read& parts);
  mlir::Value state(mlir::Value S0);  // what reads contract with
  BlockSums doubled(const BlockSums& sums, uint64_t half);
  void sum_blocks();
  Factors around(mlir::Value anchor);
  void anchor();
  void anchor_pairs();
  mlir::Value at_most(mlir::Value x, double magnitude);
  mlir::Value checked(mlir::Value decay_over_half);
  mlir::Value factored(mlir::Value x, mlir::Value factor, const std::string& suffix);
  mlir::Value to_middles(bool after, uint64_t half);
  mlir::Value read_level(mlir::Value q, bool after, uint64_t half);
  mlir::Value write_level(mlir::Value k, bool after, uint64_t half);
  mlir::Value wide_product(mlir::Value q, bool after, mlir::Value k);
  mlir::Value pair_by_levels(mlir::Value q, bool after, mlir::Value k);

  ChunkBuilder& b_;
  DecayPlan plan_;
  int64_t key_dim_;
  mlir::Value decay_, log_w_, L_, L_before_, middle_, last_;
  mlir::Value pairs_after_, pairs_before_;  // of each pair of tokens, with the reader's decay or without it; pairwise
  std::map<uint64_t, BlockSums> sums_;      // by the size of a half, exact path
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value> cache_;  // x∘factor
  std::map<std::pair<bool, uint64_t>, mlir::Value> to_middles_;
  Factors to_ends_, of_pairs_;  // what reads and writes of the state, and the two tokens of a pair, have
  mlir::Value state_;
};

}  // namespace wkvc
