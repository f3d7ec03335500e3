// The tokens of a chunk that count: the first few, or a range.
#pragma once

#include "wkvc/common/target.h"

namespace wkvc {

// From `first` to before `end`.
struct TokenRange {
  int first, end;
};

WKVC_INLINE bool is_among(int count, int token) { return token < count; }
WKVC_INLINE bool is_among(TokenRange range, int token) { return token >= range.first && token < range.end; }

// Returns whether tokens of a chunk begin with its first token.
WKVC_INLINE bool begin_chunk(int) { return true; }
WKVC_INLINE bool begin_chunk(TokenRange range) { return range.first == 0; }
// Returns whether tokens come as far as the last of C tokens that the sequence may have.
template <int C>
WKVC_INLINE bool end_chunk(int) {
  return true;
}
template <int C>
WKVC_INLINE bool end_chunk(TokenRange range) {
  return range.end == C;
}

}  // namespace wkvc
