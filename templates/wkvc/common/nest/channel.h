// A channel: slots for tiles that one role puts and others get, in the same order. Two mbarriers a slot say that its
// tile is there, and that nobody reads the tile any more.
#pragma once

namespace wkvc {

template <class View, int Depth>
struct Channel {
  static constexpr int kMbarrierBytes = 8;

  const Block& block;
  int tiles, mbarriers;  // bytes from the start of shared memory

  // Prepares the mbarriers, for a put by so many warps, or one copy, and releases by so many. By one warp.
  WKVC_INLINE void begin(int puts, int releases) const {
    for (int slot = 0; slot < Depth; ++slot) {
      there(slot).init(puts);
      read(slot).init(releases);
    }
  }

  // The tile number n, wherever it is by now.
  WKVC_INLINE View at(int n) const {
    return {reinterpret_cast<typename View::Element*>(block.memory + tiles + n % Depth * View::bytes)};
  }

  // Waits until the slot of tile n is free: until the tile before it there has been released.
  WKVC_INLINE void acquire(int n) const { read(n % Depth).wait(phase(n) ^ 1); }
  // The same by a role that has not released the tile before it there.
  WKVC_INLINE void reacquire(int n) const {
    if (n >= Depth) release(n - Depth);
    acquire(n);
  }
  // Waits until tile n itself has been released, for who writes another one over it.
  WKVC_INLINE void await_release(int n) const { read(n % Depth).wait(phase(n)); }
  // What this warp has written is there, for instructions of warp groups and bulk copies, too.
  WKVC_INLINE void put(int n) const {
    block.before_async_reads();
    there(n % Depth).arrive();
  }
  WKVC_INLINE View get(int n) const {
    there(n % Depth).wait(phase(n));
    return at(n);
  }
  WKVC_INLINE void release(int n) const { read(n % Depth).arrive(); }

  WKVC_INLINE Block::Mbarrier there(int slot) const { return block.mbarrier(mbarriers + slot * kMbarrierBytes); }

 private:
  static WKVC_INLINE int phase(int n) { return n / Depth & 1; }
  WKVC_INLINE Block::Mbarrier read(int slot) const {
    return block.mbarrier(mbarriers + (Depth + slot) * kMbarrierBytes);
  }
};

}  // namespace wkvc
