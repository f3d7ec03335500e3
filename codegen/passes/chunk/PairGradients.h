// Gradients of the operands of pairs of tokens: contractions over tokens, in f32's range. Behind teams states come
// between pairs and their gradients, and shared memory is short. So gradients have operands of their own, made again
// from the same factors. They come last, when the registers that held states are free.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Of a backward program without scales; others stay as they are.
void delay_pair_gradients(chunk::ProgramOp program);

}  // namespace wkvc
