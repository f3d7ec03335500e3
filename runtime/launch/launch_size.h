// The sizes a launch is free to choose, and the shapes that follow.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/manifest/manifest.h"
#include "runtime/tensor/extents.h"
#include "templates/wkvc/abi.h"

namespace wkvc {

// Sequences that lie one behind the other in tensors of tokens: sequence n has the tokens from starts[n] to before
// starts[n + 1] ("cu_seqlens"). States and their gradients have B = count, and tensors of tokens B = 1. Kernels bring
// starts that decrease or leave 0 … T to the nearest ones that do not; tokens of no sequence are left as they are.
struct SequenceMap {
  std::int64_t count = 0;
  const void* starts = nullptr;  // count + 1 numbers in the target's memory; sizes of tensors do without
  bool wide = false;             // numbers of 64 bits instead of 32
  // Tokens of a piece, of kernels with segments: they cut sequences into pieces of so many tokens, so that long and
  // short ones keep the GPU busy together. 0: as `piece_of` says. Equal pieces make equal bytes of a sequence.
  std::int64_t piece = 0;
  bool operator==(const SequenceMap&) const = default;
};

// States that lie in slots, in any order: sequence n has that of slots[n], a number of 32 bits in the target's memory.
// Initial and final states have B = count, and may be the same memory. Sequences with a number that is no slot, such as
// -1, are left out: nothing of theirs is read or written. No two sequences may have one slot.
struct SlotMap {
  std::int64_t count = 0;
  const std::int32_t* slots = nullptr;
  bool operator==(const SlotMap&) const = default;
};

struct LaunchSize {
  std::int64_t batches = 0, tokens = 0, heads = 0;  // B, T, H
  std::optional<SequenceMap> map = {};              // none: every batch is a sequence
  std::optional<SlotMap> slots = {};                // none: sequence n has state n
  // S, a divisor of H, of kernels that were emitted with --shared: each head of those inputs serves H/S neighbouring
  // heads. 0: as many as H.
  std::int64_t shared_heads = 0;
  // In the target's memory: where kernels say that starts or slots are none. Null: nobody wants to know; a launch on
  // the host refuses them then.
  SequenceReport* report = nullptr;

  std::int64_t shared() const { return shared_heads == 0 ? heads : shared_heads; }
  std::int64_t group() const { return shared_heads == 0 ? 1 : heads / shared_heads; }
  std::int64_t sequences() const { return map ? map->count : batches; }
  std::int64_t states() const { return slots ? slots->count : sequences(); }
  bool is_empty() const { return sequences() == 0 || tokens == 0 || heads == 0; }
  bool operator==(const LaunchSize&) const = default;
};

// Tokens of a piece of a map's sequences, for kernels with so many segments: a quarter of a segment of as many tokens
// as there are, rounded up to a power of two. The last blocks of a launch are then short. A multiple of kPieceTokens.
std::int64_t piece_of(const LaunchSize& size, std::int64_t segments);
inline constexpr std::int64_t kPieceTokens = 512;

// Pieces that there can be, whatever the starts are.
std::int64_t most_pieces(const LaunchSize& size, std::int64_t segments);

// Throws UserError unless a launch can have this size, with so many blocks of each head.
void check_size(LaunchSize size, HeadBlocks blocks);

// One dimension of a tensor, in numbers: a launch compares no text.
struct Dimension {
  enum class Of : std::uint8_t {
    constant,
    batches,
    sequences,
    states,
    tokens,
    saved,
    intermediate,
    segments,
    heads,
    shared_heads
  };

  Of of = Of::constant;
  // The length, of a constant; of saved and intermediate states, the tokens between two; of segments, how many; of
  // heads, those for each head of the launch.
  std::int64_t each = 1;

  std::int64_t length(const LaunchSize& size) const;
};

// The dimension that spec.dims[place] stands for in `manifest`.
Dimension dimension_at(const TensorSpec& spec, std::size_t place, const Manifest& manifest);

// The shape a tensor of `manifest` has at `size`.
Extents shape_of(const TensorSpec& spec, const Manifest& manifest, LaunchSize size);

// The size that follows from the shapes of tensors by name (those of the manifest's names count). Throws UserError when
// two disagree (naming both), a rank is wrong, or B, T or H follows from none. S follows where there is one.
LaunchSize size_from(const Manifest& manifest, const std::map<std::string, std::vector<std::int64_t>>& shapes);

}  // namespace wkvc
