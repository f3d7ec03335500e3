// Pieces of 16 bytes from global to shared memory, done when they are waited for and not before. A null source means
// zeros.
#pragma once

#include "wkvc/host/copy_queue.h"
#include "wkvc/host/scalar.h"

namespace wkvc {

namespace copy {

// The hardware keeps the groups of copies per thread; so does this.
inline host::CopyQueue& queue() {
  thread_local host::CopyQueue queue;
  return queue;
}

template <class T>
void piece(T* to, const T* from) {
  queue().add(to, from);
}
template <class T>
void piece_elementwise(T* to, const T* from) {
  piece(to, from);
}

template <class T, int N>
void load_piece(const T* from, float (&x)[N]) {
  for (int i = 0; i < N; ++i) x[i] = scalar::widen(from[i]);
}

}  // namespace copy

// The copies since the last commit become one group of this warp; wait until at most `Pending` groups are under way.
inline void commit_copies() { copy::queue().commit(); }
template <int Pending>
void wait_copies() {
  copy::queue().wait(Pending);
}

}  // namespace wkvc
