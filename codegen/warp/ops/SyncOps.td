// Operations that order warps: barriers, channels, whose slots roles hand over, fences, and copies that are waited for.
#ifndef WKVC_WARP_SYNC_OPS
#define WKVC_WARP_SYNC_OPS

include "codegen/warp/ops/WarpBase.td"

def Warp_BarrierOp : Warp_Op<"barrier"> {
  let summary = "All warps of the block; what precedes is visible to what follows";
  let description = "`refuses`: the block of a plain kernel ends here if anything that it gave so far is not finite.";
  let arguments = (ins UnitAttr:$refuses);
  let assemblyFormat = "(`refuses` $refuses^)? attr-dict";
}

def Warp_PhaseOp : Warp_Op<"phase"> {
  let summary = "Warps may meet here: a barrier, if what follows races with what precedes";
  let description = "The pass `barriers` decides. A kernel with phases is open, and can't be emitted.";
  let assemblyFormat = "attr-dict";
}

def Warp_ChannelOp : Warp_Op<"channel", [HasParent<"KernelOp">]> {
  let summary = "Slots of `bytes` bytes from `offset` on, `depth` of them by turns for each chunk of a round";
  let description = [{
    What is declared `in` a channel lies in the slot of each chunk. Where roles hand slots over, who prepares a chunk
    acquires its slot, writes to it and puts it; who takes the state through the chunk gets the slot, reads it and releases
    it. `refuses`: of a plain kernel, whose rounds are left out once something that it gave is not finite.

    A kernel may have several channels, each with a depth, bytes, one producer and one consumer of its own. What lies in
    no channel has the offsets before the first channel's; those of each channel begin where the one before ends.
  }];
  let arguments = (ins I64Attr:$depth, I64Attr:$offset, I64Attr:$bytes, UnitAttr:$refuses);
  let results = (outs Warp_Channel:$channel);
  let assemblyFormat = "`depth` $depth `offset` $offset `bytes` $bytes (`refuses` $refuses^)? attr-dict";
}

class Warp_SlotOp<string name> : Warp_Op<name> {
  let arguments = (ins Warp_Channel:$channel);
  let assemblyFormat = "$channel attr-dict";
}

def Warp_AcquireOp : Warp_SlotOp<"acquire"> {
  let summary = "A team waits until nobody reads its chunk's slot any more";
}

def Warp_PutOp : Warp_SlotOp<"put"> {
  let summary = "What a team's warps have written to the slot is there for the consumers, of all blocks of a cluster";
}

def Warp_GetOp : Warp_SlotOp<"get"> { let summary = "Waits until the chunk's slot was put"; }

def Warp_ReleaseOp : Warp_SlotOp<"release"> { let summary = "This warp has read the chunk's slot"; }

def Warp_BeforeAsyncReadsOp : Warp_Op<"before_async_reads"> {
  let summary = "In a warp.team: what this warp has stored is there for contractions by groups, once warps have met";
  let assemblyFormat = "attr-dict";
}

def Warp_CopyOp : Warp_Op<"copy"> {
  let summary = "Starts copying the chunk `ahead` of the current one into its ring; before the loop, chunk `ahead`";
  let description = [{
    For the `next` group: its first chunk. Of a team: of the round that it prepares next, where it prepares some again.
  }];
  let arguments = (ins Warp_Shared:$ring, I64Attr:$ahead, UnitAttr:$next);
  let assemblyFormat = "$ring `ahead` $ahead (`next` $next^)? attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def Warp_CopySavedOp : Warp_Op<"copy_saved"> {
  let summary = "Starts copying them for the chunk `ahead` of the current one; before the loop, its first one";
  let description = "For the `next` group: the state before it. That before a group's first chunk comes from `first_from`.";
  let arguments = (ins StrAttr:$tensor, Warp_Shared:$staged, I64Attr:$ahead, UnitAttr:$next,
                       OptionalAttr<StrAttr>:$first_from);
  let assemblyFormat = [{
    $tensor `,` $staged `ahead` $ahead (`next` $next^)? (`first_from` $first_from^)? attr-dict `:` qualified(type($staged))
  }];
  let hasVerifier = 1;
}

def Warp_CommitCopiesOp : Warp_Op<"commit_copies"> { let assemblyFormat = "attr-dict"; }

def Warp_WaitCopiesOp : Warp_Op<"wait_copies"> {
  let summary = "Waits until at most `pending` commits of this warp are under way";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

#endif
