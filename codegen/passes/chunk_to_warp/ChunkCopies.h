// What a chunk program reads from global memory ahead of its use: inputs through rings, saved states through the staged
// one.
#pragma once

#include <optional>

#include "codegen/passes/chunk_to_warp/StateForms.h"

namespace wkvc {

class ChunkCopies {
 public:
  ChunkCopies(const BuildContext& context, const StateForms& states) : c_(context), states_(states) {}

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

 private:
  mlir::Value staged_chunk();
  void copy_inputs(int ahead, bool next);
  using Which = llvm::function_ref<bool(Copied)>;
  void copy_some(Which which, int ahead, bool next);  // as one group

  const BuildContext& c_;
  const StateForms& states_;
};

}  // namespace wkvc
