// What orders warps: barriers, the slots that teams hand over, fences, and copies that are waited for.
#ifndef WKVC_WARP_SYNC_OPS
#define WKVC_WARP_SYNC_OPS

include "codegen/warp/ops/WarpBase.td"

def Warp_BarrierOp : Warp_Op<"barrier"> {
  let summary = "All warps of the block; what precedes is visible to what follows";
  let description = "`refuses`: the block of a plain kernel ends here if anything that it gave so far is not finite.";
  let arguments = (ins UnitAttr:$refuses);
  let assemblyFormat = "(`refuses` $refuses^)? attr-dict";
}

def Warp_ClaimOp : Warp_Op<"claim"> {
  let summary = "A team waits until nobody reads its slot for the round any more";
  let description = "`refuses`: of a plain kernel, whose rounds are left out once something that it gave is not finite.";
  let arguments = (ins UnitAttr:$refuses);
  let assemblyFormat = "(`refuses` $refuses^)? attr-dict";
}

def Warp_PublishOp : Warp_Op<"publish"> {
  let summary = "What a team's warps have written to its slot is there for the others, of all blocks of a cluster";
  let assemblyFormat = "attr-dict";
}

def Warp_AwaitOp : Warp_Op<"await"> {
  let summary = "Waits until the chunk's slot is published; `refuses` as teams do";
  let arguments = (ins UnitAttr:$refuses);
  let assemblyFormat = "(`refuses` $refuses^)? attr-dict";
}

def Warp_ReleaseOp : Warp_Op<"release"> {
  let summary = "This warp has read the chunk's slot";
  let assemblyFormat = "attr-dict";
}

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
  let assemblyFormat = "$ring `ahead` $ahead (`next` $next^)? attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def Warp_CopySavedOp : Warp_Op<"copy_saved"> {
  let summary = "Starts copying them for the chunk `ahead` of the current one; before the loop, its first one";
  let description = "For the `next` group: the state before it. That before a group's first chunk comes from `first_from`.";
  let arguments = (ins StrAttr:$tensor, Warp_Shared:$staged, I64Attr:$ahead, UnitAttr:$next,
                       OptionalAttr<StrAttr>:$first_from);
  let assemblyFormat = [{
    $tensor `,` $staged `ahead` $ahead (`next` $next^)? (`first_from` $first_from^)? attr-dict `:` type($staged)
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
