// What a kernel is launched with. Shared by the emitted kernels (NVRTC and host compiler) and the runtime,
// so it includes nothing and uses builtin types only.
#pragma once

namespace wkvc {

// One tensor of a kernel; the last dimension is contiguous, strides count elements.
// Token tensors [B,T,H,D]: all three strides; so with one number a token, [B,T,H]. States [B,H,V,K] and [B,H,N,V,K]:
// `row` strides over V; so with intermediate states [B,M,H,V,K], which are contiguous. Per-head parameters [H,D] or
// [H]: head only; their gradients [B,H,D] also batch, [B,H,S,D] row as well.
struct TensorArg {
  void* data;  // null: absent (an initial state of zeros, a final state nobody asked for)
  long long batch;
  long long row;  // tokens, or rows of a state; within ±2^24, so that offsets in a chunk fit 32 bits
  long long head;
  // kVector16: data and every stride are multiples of 16 bytes, so rows may be moved in 16-byte pieces. Of launches
  // with starts, slots or groups also kInSlots: a state whose B are slots; kShared: a tensor of tokens that has one
  // head for each group of heads; and of saved states the tokens between two of them, times kSavedEvery: there `batch`
  // strides over states, and sequence n begins at state ⌊first token / tokens between⌋ + n, which lies behind all
  // states of the sequences before. So it is with tensors [B,H,segments,…] where sequences are cut into pieces. Of
  // kernels with WKVC_PARTS kWhole: the tensor has heads, where KernelArgs::heads and other tensors count parts of
  // heads.
  long long flags;
  long long part;  // with kWhole: elements from one part of a head to the next; 0: all parts of a head have the same
};
inline constexpr long long kVector16 = 1, kInSlots = 2, kShared = 4, kWhole = 8, kSavedEvery = 16;

// Sequences that lie one behind the other in tensors of tokens, whose B is 1: sequence n has the tokens from starts[n]
// to before starts[n + 1].
struct SequenceStarts {
  const void* data;  // null: every batch is a sequence
  long long wide;    // 1: numbers of 64 bits; 0: of 32
};

// Which slot has the state of each sequence.
struct StateSlots {
  const int* data;  // of sequence n: the slot data[n], or none if that is no slot; null: slot n
  long long count;
};

// Where kernels report starts and slots that are none, if anybody wants to know. They write nothing else there: who
// wants to know sets both words to 0 before.
struct SequenceReport {
  int starts;  // 1 + a sequence whose start or end kernels moved: starts decrease, leave the tokens, or begin behind 0
  int slots;   // 1 + a sequence whose slot lies behind the last one, or is an earlier sequence's, too
};

template <int N>
struct KernelArgs {
  long long batches;   // sequences; the B of states
  long long tokens;    // of each sequence, or, with a map, of all together
  long long heads;     // with WKVC_PARTS: parts of heads, those of one head behind each other
  long long vector16;  // 1: that of every tensor [B,T,H,D] is
  long long segments;  // of each sequence, a block for each; at least 1. With `piece`: pieces that there can be
  // 0, or the tokens of a piece. Then each sequence has as many segments as it has pieces, the last of which may be
  // shorter, and there is a block for each head and piece. Sequence n begins at piece ⌊first token / piece⌋ + n.
  long long piece;
  SequenceStarts starts;
  StateSlots slots;
  SequenceReport* report;  // null: nobody wants to know
  long long group;         // heads that share a head of tensors with kShared; at least 1
  TensorArg tensor[N];
};

// A CUtensorMap: where boxes of a tensor of tokens lie that are copied to shared memory and back in one piece.
struct alignas(64) BoxMap {
  unsigned long long word[16];
};

// The only parameter of kernels with maps (WKVC_NEST_KERNEL) on a GPU. The host target is given the launch alone.
template <int N, int Maps>
struct MappedArgs {
  KernelArgs<N> launch;
  BoxMap map[Maps];
};

}  // namespace wkvc
