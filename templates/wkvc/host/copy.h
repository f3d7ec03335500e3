// Pieces of 16 bytes from global to shared memory, done when they are waited for and not before. A null source means
// zeros.
#pragma once

#include "wkvc/host/fragment.h"
#include "wkvc/host/scalar.h"
#include "wkvc/host/warp.h"

namespace wkvc {

namespace copy {

// Each warp has groups of copies of its own.
inline host::CopyQueue& queue() { return host::running_warp()->copies; }

// Zeros unless `present`; then `from` is not read.
template <class T>
void piece(T* to, const T* from, bool present) {
  queue().add(to, present ? from : nullptr);
}
// A 16x16 block.
template <class T>
void block(T* to, const T* from) {
  for (unsigned i = 0; i < 256; i += 16 / sizeof(T)) queue().add(to + i, from + i);
}
inline void piece_elementwise(u16* to, const u16* from) { queue().add(to, from); }

// The largest |x| of pieces, or of operands.
template <class T>
class Largest {
 public:
  void add(const T* piece) {
    for (unsigned i = 0; i < 16 / sizeof(T); ++i)
      largest_ = scalar::max(largest_, scalar::abs(scalar::widen(piece[i])));
  }
  void add(const Fragment<T>& x) {
    for (const T element : x.unit) largest_ = scalar::max(largest_, scalar::abs(scalar::widen(element)));
  }
  float value() const { return largest_; }

 private:
  float largest_ = 0.f;
};

}  // namespace copy

// The copies since the last commit become one group of this warp; wait until at most `Pending` groups are under way.
inline void commit_copies() { copy::queue().commit(); }
template <int Pending>
void wait_copies() {
  copy::queue().wait(Pending);
}

}  // namespace wkvc
