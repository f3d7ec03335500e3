// Contractions of warp groups: here each warp's by itself.
#pragma once

namespace wkvc {

template <class... Terms>
void group_mma(const Terms&... terms) {
  (mma_nt(terms.acc, terms.a, terms.b), ...);
}

}  // namespace wkvc
