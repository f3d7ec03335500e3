// Which warps do what, and over which chunks: regions, and what they end with.
#ifndef WKVC_WARP_CONTROL_OPS
#define WKVC_WARP_CONTROL_OPS

include "codegen/warp/ops/WarpBase.td"

def Warp_RoleOp : Warp_Op<"role", [HasParent<"KernelOp">, SingleBlock, NoTerminator]> {
  let summary = "What `warps` warps of a block do, from warp `first` on, each of whose threads has so many registers";
  let description = "Without `registers`: as many as all threads of the kernel are launched with.";
  let arguments = (ins Warp_Work:$work, I64Attr:$first, I64Attr:$warps, OptionalAttr<I64Attr>:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $work `first` $first `warps` $warps (`registers` $registers^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Warp_SweepOp : Warp_Op<"sweep", [SingleBlock, NoTerminator,
    RangedTypesMatchWith<"results are as what is carried", "carried", "results", "$_self">]> {
  let summary = "Over chunks in order, with the state that a chunk leaves for the next one, if there is one";
  let description = [{
    Over all `chunks`, from the first or `backward` from the last. Over `groups` of `saved_every` chunks from the last to
    the first, with sweeps in it over a `group`: forward over all but its last chunk, backward over all of it. `ahead`:
    each group starts the copies of the next; those of the first start in a group before it that has no chunks.
    In a kernel of teams over `rounds` of a chunk for each, with sweeps in it over the chunks of the `round`: in a
    backward kernel one for the saved state first, then one `backward`; in a warp.again of one before. `beside`: at once
    with the one before it, of which it needs nothing. A role that prepares has one sweep over rounds, which carries
    nothing.
  }];
  let arguments = (ins Warp_Over:$over, UnitAttr:$backward, UnitAttr:$ahead, UnitAttr:$beside,
                       Variadic<Warp_Tile32>:$carried);
  let results = (outs Variadic<Warp_Tile32>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `over` $over (`backward` $backward^)? (`ahead` $ahead^)? (`beside` $beside^)? (`carry` $carried^ `:` qualified(type($carried)))?
    attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    bool isOverRounds() { return getOver() == Over::rounds; }
    // The state before the first chunk, before each chunk, behind each and behind the last; null where none is carried.
    ::mlir::Value getInit() { return getCarried().empty() ? ::mlir::Value() : getCarried().front(); }
    void setInit(::mlir::Value state) { getCarriedMutable().assign(state); }
    ::mlir::Value getState() { return getCarried().empty() ? ::mlir::Value() : getBody().getArgument(0); }
    ::mlir::Value getNext() { return getCarried().empty() ? ::mlir::Value() : getBody().front().back().getOperand(0); }
    ::mlir::Value getResult() { return getResults().empty() ? ::mlir::Value() : getResults().front(); }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Warp_TeamOp : Warp_Op<"team", [SingleBlock, NoTerminator]> {
  let summary = "Each team of warps does this for its own chunk of the round, or before the loop of the first round";
  let description = "Where there is such a chunk. What speaks of warps means those of the team: slabs, barriers, copies.";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Warp_AgainOp : Warp_Op<"again", [SingleBlock, AllTypesMatch<["saved", "result"]>]> {
  let summary = "In a sweep over rounds, of which every other one has a saved state: the state before the second";
  let description = [{
    From the saved state, through the first round again, which this is the body of, with a sweep over the round; before a
    first round the saved state as it is.
  }];
  let arguments = (ins Warp_Tile:$saved);
  let results = (outs Warp_Tile:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$saved attr-dict-with-keyword `:` qualified(type($saved)) $body";
  let hasRegionVerifier = 1;
}

def Warp_YieldOp : Warp_Op<"yield", [Terminator, ParentOneOf<["SweepOp", "AgainOp"]>]> {
  let arguments = (ins Warp_Tile:$next);
  let assemblyFormat = "$next attr-dict `:` qualified(type($next))";
}

def Warp_EndLastOp : Warp_Op<"end_last"> {
  let summary = "In a sweep over a round: the last chunk ends here; what follows is for the next one, for all warps alike";
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Warp_SlabsOp : Warp_Op<"slabs", [SingleBlock, NoTerminator]> {
  let summary = "Slabs of 16 of `columns` columns, dealt round to the warps; the argument is the first column";
  let description = [{
    With `strips` one slab of so many columns for each warp, whose lanes share it in strips instead of blocks: what is
    made there takes no part in contractions, and sums over rows cost little.
  }];
  let arguments = (ins I64Attr:$columns, OptionalAttr<I64Attr>:$strips);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$columns (`strips` $strips^)? attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Warp_ShareOp : Warp_Op<"share", [Pure]> {
  let summary = "The first column of this warp's slab, where each warp of a team has one of `width` columns, in blocks";
  let arguments = (ins I64Attr:$width);
  let results = (outs Index:$result);
  let assemblyFormat = "$width attr-dict";
  let hasVerifier = 1;
}

def Warp_OnWarpOp : Warp_Op<"on_warp", [SingleBlock, NoTerminator]> {
  let summary = "Only one warp does this";
  let arguments = (ins I64Attr:$warp);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$warp attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Warp_NoteOp : Warp_Op<"note"> {
  let summary = "A comment in the emitted text";
  let arguments = (ins StrAttr:$text);
  let assemblyFormat = "$text attr-dict";
}

#endif
