// A thread block: barriers among its warps.
#pragma once

#include "wkvc/common/block_base.h"
#include "wkvc/cuda/ptx.h"

namespace wkvc {

struct Block : BlockBase {
  WKVC_INLINE void barrier() const { ptx::barrier(); }
  // Barrier `Id` (1 … 15) among `count` warps, all of which call this.
  template <int Id>
  WKVC_INLINE void barrier(int count) const {
    ptx::named_barrier<Id>(32 * count);
  }

  // Arrivals are counted per warp. Each completed phase flips the parity that wait() asks for, starting with 0.
  struct Mbarrier {
    u64* word;

    // Called by one warp; the others may use it after a block barrier.
    WKVC_INLINE void init(int warp_arrivals) const {
      if (lanes::is_first()) ptx::mbarrier_init(word, warp_arrivals);
      lanes::sync();
    }
    WKVC_INLINE void arrive() const {
      lanes::sync();  // what the other lanes did comes before
      if (lanes::is_first()) ptx::mbarrier_arrive(word);
    }
    WKVC_INLINE void wait(int parity) const {
      while (!ptx::mbarrier_try_wait(word, parity)) {
      }
    }
  };
  WKVC_INLINE Mbarrier mbarrier(int offset) const { return {reinterpret_cast<u64*>(memory + offset)}; }
};

// Moves registers between warp groups of four: all four warps call the same.
template <int Registers>
WKVC_INLINE void increase_registers() {
  ptx::setmaxnreg_inc<Registers>();
}
template <int Registers>
WKVC_INLINE void decrease_registers() {
  ptx::setmaxnreg_dec<Registers>();
}

}  // namespace wkvc
