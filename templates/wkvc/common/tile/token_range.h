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

}  // namespace wkvc
