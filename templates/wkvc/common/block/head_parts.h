// Heads as kernels count them: the parts that the value rows of a head are dealt to, a block for each.
#pragma once

#include "wkvc/abi.h"
#include "wkvc/common/target.h"

namespace wkvc {

// Only texts whose blocks have parts define WKVC_PARTS.
#ifdef WKVC_PARTS
inline constexpr int kHeadParts = WKVC_PARTS;
#else
inline constexpr int kHeadParts = 1;
#endif

// Whether flags say which tensors have whole heads.
inline constexpr bool kTellsHeads = kHeadParts > 1;

// Returns the elements from a tensor's first head to the block's own.
WKVC_INLINE long long head_offset(const TensorArg& t, long long head) {
  if constexpr (kHeadParts > 1) {
    const u32 part = static_cast<u32>(head);
    if ((t.flags & kWhole) != 0) return part / kHeadParts * t.head + part % kHeadParts * t.part;
  }
  return head * t.head;
}

// Returns the head of tensors with kShared that the block's own is one of `group` of.
WKVC_INLINE long long shared_head_of(u32 head, u32 group) {
  return head / kHeadParts / group * kHeadParts + head % kHeadParts;
}

// Returns how many of the heads that kernels count share a head of `to`.
template <int N>
WKVC_INLINE u32 group_of(const KernelArgs<N>& args, const TensorArg& to) {
  if constexpr (kHeadParts == 1) return static_cast<u32>(args.group);
  return (to.flags & kShared) != 0 ? kHeadParts * static_cast<u32>(args.group) : kHeadParts;
}

// Calls add(head) with each head whose sum `to` has, from the block's own on. Returns false for blocks whose head
// another block adds.
template <class Add>
WKVC_INLINE bool for_summed_heads(const TensorArg& to, long long head, const Add& add) {
  const int parts = to.part == 0 ? kHeadParts : 1;
  if (static_cast<u32>(head) % static_cast<u32>(parts) != 0) return false;
  for (int part = 0; part < parts; ++part) add(head + part);
  return true;
}

}  // namespace wkvc
