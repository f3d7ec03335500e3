// Tiles of a tensor of tokens, by a tensor map: boxes of a chunk's rows and 128 bytes of columns. Rows behind the last
// token come as zeros and do not go.
#pragma once

#include "wkvc/common/nest/channel.h"
#include "wkvc/cuda/nest/ptx.h"

namespace wkvc {

struct TokenTiles {
  const BoxMap* map;
  int head, batch;
};

template <int Map, int Maps>
WKVC_INLINE TokenTiles token_tiles(const BoxMap (&maps)[Maps], const TensorArg&, const Block& block) {
  return {&maps[Map], static_cast<int>(block.head), static_cast<int>(block.batch)};
}

// Starts copying a chunk into the slot of the same number, which is free. By one warp.
template <class T, int R, int C, int Depth>
WKVC_INLINE void load(const TokenTiles& from, const Channel<Swizzled<T, R, C>, Depth>& to, int chunk) {
  if (lanes::is_first()) {
    const Swizzled<T, R, C> tile = to.at(chunk);
    u64* const there = to.there(chunk % Depth).word;
    ptx::mbarrier_expect(there, tile.bytes);
    WKVC_FOR(n, C / kPanel<T>,
             ptx::load_box(tile.template cols<kPanel<T>>(n * kPanel<T>).data, from.map, there, n * kPanel<T>, from.head,
                           chunk * R, from.batch));
  }
  lanes::sync();
}

// Starts copying columns of a chunk from a tile. By one warp, which waits before others write to the tile.
template <class T, int R, int C>
WKVC_INLINE void store(const TokenTiles& to, const Swizzled<T, R, C>& tile, int chunk, int col0) {
  if (lanes::is_first()) {
    WKVC_FOR(n, C / kPanel<T>,
             ptx::store_box(to.map, tile.template cols<kPanel<T>>(n * kPanel<T>).data, col0 + n * kPanel<T>, to.head,
                            chunk * R, to.batch));
    ptx::commit_boxes();
  }
  lanes::sync();
}
WKVC_INLINE void await_stores_read() {
  if (lanes::is_first()) ptx::await_boxes_read();
  lanes::sync();
}
WKVC_INLINE void await_stores() {
  if (lanes::is_first()) ptx::await_boxes();
}

}  // namespace wkvc
