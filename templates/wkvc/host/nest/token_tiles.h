// Tiles of a tensor of tokens. Rows behind the last token come as zeros and do not go.
#pragma once

#include "wkvc/common/nest/channel.h"
#include "wkvc/common/nest/swizzled.h"

namespace wkvc {

struct TokenTiles {
  const TensorArg& tensor;
  const Block& block;
};

template <int Map>
TokenTiles token_tiles(const BoxMap*, const TensorArg& tensor, const Block& block) {
  return {tensor, block};
}

template <class T, int R, int C, int Depth>
void load(const TokenTiles& from, const Channel<Swizzled<T, R, C>, Depth>& to, int chunk) {
  const Swizzled<T, R, C> tile = to.at(chunk);
  for (int row = 0; row < R; ++row) {
    const long long token = static_cast<long long>(chunk) * R + row;
    const bool present = token < from.block.tokens;
    const T* const source = present ? token_row<const T>(from.tensor, from.block, token) : nullptr;
    for (int column = 0; column < C; ++column) *tile.at(row, column) = present ? source[column] : T{};
  }
  to.there(chunk % Depth).arrive();
}

template <class T, int R, int C>
void store(const TokenTiles& to, const Swizzled<T, R, C>& tile, int chunk, int col0) {
  for (int row = 0; row < R; ++row) {
    const long long token = static_cast<long long>(chunk) * R + row;
    if (token < 0 || token >= to.block.tokens) return;
    T* const target = token_row<T>(to.tensor, to.block, token) + col0;
    for (int column = 0; column < C; ++column) target[column] = *tile.at(row, column);
  }
}
inline void await_stores_read() {}
inline void await_stores() {}

}  // namespace wkvc
