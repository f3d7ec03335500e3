#include "runtime/launch/launch_size.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "runtime/error.h"
#include "runtime/manifest/layout.h"
#include "runtime/tensor/checked.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {
namespace {

std::int64_t tokens_between_states(const Manifest& manifest) {
  if (manifest.saved_every < 1) internal_error("{} saves no states", manifest.kernel);
  return std::int64_t{manifest.chunk} * manifest.saved_every;
}

// One of B, T, H, and the tensor it was first read from.
struct Found {
  std::int64_t value = -1;
  std::string tensor;
};

void check_map(const LaunchSize& size) {
  if (!size.map) return;
  if (size.batches != 1) {
    user_error("B = {}, expected 1 with a map of sequences: these lie one behind the other in one batch", size.batches);
  }
  if (size.map->count < 0) user_error("a map of {} sequences: expected 0 or more", size.map->count);
  if (size.map->piece < 0) user_error("pieces of {} tokens: expected 0 or more", size.map->piece);
}

void check_slots(const LaunchSize& size) {
  if (size.slots && size.slots->count < 0) user_error("{} slots of states: expected 0 or more", size.slots->count);
}

void check_shared(const LaunchSize& size) {
  if (size.shared_heads == 0) return;
  if (size.shared_heads > 0 && size.heads % size.shared_heads == 0) return;
  user_error("H = {} and S = {}: expected the number of shared heads to divide the number of heads", size.heads,
             size.shared_heads);
}

void read_sizes(const TensorSpec& spec, const std::vector<std::int64_t>& shape, std::map<std::string, Found>& sizes) {
  if (shape.size() != spec.dims.size()) {
    user_error("tensor \"{}\" has shape {}, expected [{}]", spec.name, shape_text(shape), fmt::join(spec.dims, ", "));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto known = sizes.find(spec.dims[i]);
    if (known == sizes.end()) continue;
    Found& found = known->second;
    if (found.value < 0) found = {shape[i], spec.name};
    if (found.value != shape[i]) {
      user_error("tensor \"{}\" has shape {}, so {} is {}, but it is {} in tensor \"{}\"", spec.name, shape_text(shape),
                 spec.dims[i], shape[i], found.value, found.tensor);
    }
  }
}

}  // namespace

std::int64_t piece_of(const LaunchSize& size, std::int64_t segments) {
  if (size.map->piece > 0) return size.map->piece;
  const auto tokens = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size.tokens)));
  const std::int64_t pieces = 4 * segments * kPieceTokens;
  return std::max<std::int64_t>((tokens + pieces - 1) / pieces, 1) * kPieceTokens;
}

std::int64_t most_pieces(const LaunchSize& size, std::int64_t segments) {
  return size.tokens / piece_of(size, segments) + size.map->count;
}

void check_size(LaunchSize size, HeadBlocks blocks) {
  const auto [segments, of_segment] = blocks;
  if (size.batches < 0 || size.tokens < 0 || size.heads < 0) {
    user_error("B = {}, T = {}, H = {}: sizes cannot be negative", size.batches, size.tokens, size.heads);
  }
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 34;  // chunks of at least 16 are counted in 32 bits
  if (size.tokens > kMostTokens) {
    user_error("T = {} is more than {}, the most tokens a kernel counts: split the sequence", size.tokens, kMostTokens);
  }
  check_map(size);
  check_slots(size);
  check_shared(size);
  const bool in_pieces = size.map && segments > 1;
  const CheckedInt units =
      in_pieces ? CheckedInt(most_pieces(size, segments)) : checked_mul(size.sequences(), std::int64_t{segments});
  const CheckedInt all = checked_mul(checked_mul(units, size.heads), std::int64_t{of_segment});
  if (!all || *all > std::numeric_limits<std::int32_t>::max()) {
    const std::string each =
        segments * of_segment == 1 ? "" : fmt::format(", times {} blocks each,", segments * of_segment);
    user_error("B·H = {}·{}{} is more than 2^31-1, the most blocks a launch can have: split the batch",
               size.sequences(), size.heads, each);
  }
}

std::int64_t Dimension::length(const LaunchSize& size) const {
  switch (of) {
    case Of::constant:
      return each;
    case Of::batches:
      return size.batches;
    case Of::sequences:
      return size.sequences();
    case Of::states:
      return size.states();
    case Of::tokens:
      return size.tokens;
    case Of::heads:
      return size.heads * each;
    case Of::shared_heads:
      return size.shared();
    case Of::saved:  // each sequence of a map begins a state of its own: TensorArg::flags in templates/wkvc/abi.h
      if (size.map) return size.tokens / each + size.map->count;
      return size.tokens == 0 ? 0 : (size.tokens - 1) / each + 1;
    case Of::intermediate:
      return size.tokens / each;
    case Of::segments:
      return size.map ? most_pieces(size, each) : each;
  }
  internal_error("no such dimension");
}

Dimension dimension_at(const TensorSpec& spec, std::size_t place, const Manifest& manifest) {
  using Of = Dimension::Of;
  const std::string& dim = spec.dims[place];
  const std::int64_t segments = segments_of(spec).value_or(1);
  if (dim == "B") {
    if (holds_state(spec.role)) return {Of::states};
    const auto follows_tokens = [](const std::string& other) { return other == "T" || other == "N" || other == "M"; };
    return {segments > 1 || std::ranges::any_of(spec.dims, follows_tokens) ? Of::batches : Of::sequences};
  }
  if (segments > 1 && place == 2) return {Of::segments, segments};
  if (dim == "T") return {Of::tokens};
  if (dim == "H") return {Of::heads, manifest.heads_of(spec.role).each};
  if (dim == "S") return {Of::shared_heads};
  if (dim == "N") return {Of::saved, tokens_between_states(manifest)};
  if (dim == "M") return {Of::intermediate, manifest.states_every};
  if (dim == "K") return {Of::constant, manifest.key_dim};
  if (dim == "V") return {Of::constant, manifest.heads_of(spec.role).values};
  if (dim == "G") return {Of::constant, manifest.saved_every};
  const std::optional<std::int64_t> value = constant_from(dim);
  if (!value) internal_error("\"{}\" is no dimension", dim);
  return {Of::constant, *value};
}

Extents shape_of(const TensorSpec& spec, const Manifest& manifest, LaunchSize size) {
  Extents shape;
  for (std::size_t i = 0; i < spec.dims.size(); ++i) shape.push_back(dimension_at(spec, i, manifest).length(size));
  return shape;
}

LaunchSize size_from(const Manifest& manifest, const std::map<std::string, std::vector<std::int64_t>>& shapes) {
  std::map<std::string, Found> sizes{{"B", {}}, {"T", {}}, {"H", {}}, {"S", {}}};
  for (const TensorSpec& spec : manifest.tensors) {
    const auto shape = shapes.find(spec.name);
    if (shape != shapes.end()) read_sizes(spec, shape->second, sizes);
  }
  for (const auto& [dim, found] : sizes) {
    if (found.value < 0 && dim != "S")
      user_error("{} follows from none of the tensors given: give one that has {}", dim, dim);
  }
  LaunchSize size{sizes["B"].value, sizes["T"].value, sizes["H"].value};
  if (const std::int64_t shared = sizes["S"].value; shared != size.heads)
    size.shared_heads = std::max<std::int64_t>(shared, 0);
  check_shared(size);
  return size;
}

}  // namespace wkvc
