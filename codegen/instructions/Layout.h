// A layout says where the elements of a tile lie: in the warp and the nest dialect, and for instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace wkvc {

enum class Layout {
  fragments,  // registers of a warp: operands and sums of mma.sync, 16 rows a warp
  strips,     // registers of a warp: 4 columns a lane of rows that neighbour each other (templates/wkvc/cuda/strips.h)
  sums,       // registers of four warps: sums of wgmma, 64 rows
  operand,    // registers of four warps: a first operand of wgmma, which sums become by rounding
  tokens,     // registers: a number for each token of a chunk, which every warp has
  swizzled,   // shared memory: rows of 128 bytes, whose pieces of 16 are exchanged
  padded,     // shared memory: rows a few elements apart, for ldmatrix
  plain,      // shared memory: rows one behind the other
  shared,     // shared memory: a buffer or a ring, as templates/wkvc/common has them
  matrices    // shared memory: a buffer of 16-bit elements, whose matrices of 8 rows by 16 bytes wgmma reads
};

inline constexpr std::array<std::string_view, 10> layout_words{"fragments", "strips", "sums",  "operand", "tokens",
                                                               "swizzled",  "padded", "plain", "shared",  "matrices"};

constexpr std::string_view word_of(Layout layout) { return layout_words[static_cast<std::size_t>(layout)]; }

// Returns the layout of a word; none where no layout has the word.
constexpr std::optional<Layout> find_layout(std::string_view word) {
  const auto* const found = std::ranges::find(layout_words, word);
  if (found == layout_words.end()) return {};
  return static_cast<Layout>(found - layout_words.begin());
}

constexpr bool lies_in_shared_memory(Layout layout) { return layout >= Layout::swizzled; }

}  // namespace wkvc
