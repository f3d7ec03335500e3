// The warp dialect: what each warp of a block does, in order. Register tiles are vectors of rank 2, shared tiles are
// memrefs in memory space 3; every offset and barrier is explicit. One operation is one call into templates/.
//
//   warp.kernel "example_forward" warps 4 schedule #wkvc.schedule<grid(blocks = 2)> ... {
//     %k_ring = warp.ring "k" offset 0 stages 2 : memref<16x64xbf16, 3>
//     %S = warp.load_state "initial_state" : vector<16x64xf32>
//     %last = warp.loop %S : vector<16x64xf32> {
//     ^bb0(%S0: vector<16x64xf32>):
//       warp.wait_copies 0
//       warp.barrier
//       ...
//       warp.yield %S_next : vector<16x64xf32>
//     }
//     warp.store_state "final_state" %last : vector<16x64xf32>
//   }
#ifndef WKVC_WARP_OPS
#define WKVC_WARP_OPS

include "codegen/schedule/ScheduleAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Warp_Dialect : Dialect {
  let name = "warp";
  let cppNamespace = "::wkvc::warp";
  let dependentDialects = ["::wkvc::WkvcDialect"];
  let summary = "Register tiles, shared tiles, copies and barriers of the warps of one block";
}

def Warp_Tile : VectorOfRankAndType<[2], [F32, TF32, F16, BF16]>;
def Warp_Tile32 : VectorOfRankAndType<[2], [F32]>;
def Warp_Shared : MemRefRankOf<[F32, TF32, F16, BF16], [2]>;
def Warp_Floats : MemRefRankOf<[F32], [1]>;
def Warp_Operand : AnyTypeOf<[Warp_Tile, Warp_Shared]>;

class Warp_Op<string name, list<Trait> traits = []> : Op<Warp_Dialect, name, traits>;

def Warp_KernelOp : Warp_Op<"kernel", [IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "One kernel; a block of `warps` warps runs one head";
  let description = [{
    `tensors` lists the arguments in order, each "role name dtype dims", dims separated by commas. A `backward` kernel
    goes through the chunks from the last to the first. `schedule` (codegen/schedule/Schedule.h) has no open choices here
    but those of memory. The state before every checkpoint is saved by the forward kernel for the backward one.

    Sequences may be cut into segments, a block for each. A `summary` kernel then comes first, which carries rows of a
    "full" or "diagonal" map behind the value rows, and warp.combine; both leave states in a workspace.

    With teams of warps it goes through rounds of as many chunks: each team prepares one of them, then all warps take
    the state through the round. Each chunk of a round has a slot of its own in shared memory; offsets are inside it.
    Where teams have warps of their own, these are behind those of the state: warp.prepare is theirs, a round ahead of the
    others, and there are slots for two rounds, by turns. What lies in the first `of_team` bytes is then the team's for all
    rounds; mbarriers that say when a slot is prepared and when it is free lie behind all slots, 16 bytes for each.

    Then a cluster of blocks may run a head together: each has a part of its rows, and as many teams. A round has a
    chunk for each team of each block, whose slot goes to the other blocks.

    A `plain` kernel has no scales. It refuses what f16 doesn't hold without them, a block by itself, for the `refused`
    kernel that follows: the same with scales.
  }];
  let arguments = (ins StrAttr:$sym_name, StrAttr:$op, I64Attr:$warps, Wkvc_Schedule:$schedule, I64Attr:$chunk,
                       I64Attr:$key_dim, I64Attr:$value_dim, I64Attr:$shared_bytes, StrAttr:$compute,
                       StrArrayAttr:$tensors, StrAttr:$arch, UnitAttr:$backward, OptionalAttr<StrAttr>:$summary,
                       DefaultValuedAttr<I64Attr, "0">:$of_team, UnitAttr:$plain, UnitAttr:$refused);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `for` $op `warps` $warps `schedule` $schedule `chunk` $chunk `head` $key_dim `x` $value_dim
    `shared` $shared_bytes `compute` $compute `arch` $arch `tensors` $tensors attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getBlocks() { return getSchedule().grid.blocks; }
    int64_t getSegments() { return getSchedule().grid.segments; }
    int64_t getCluster() { return getSchedule().grid.cluster; }
    int64_t getTeams() { return getSchedule().prepare.teams; }
    int64_t getRounds() { return getSchedule().rounds(); }
    int64_t getSavedEvery() { return getSchedule().checkpoint.every; }
  }];
}

def Warp_BatchSumOp : Warp_Op<"batch_sum"> {
  let summary = "A kernel that sums a workspace over all but heads and D, a block for each head";
  let description = "The workspace is [B,H,D] or [B,H,segments,D], or, over \"1\", [B,T,H].";
  let arguments = (ins StrAttr:$sym_name, StrAttr:$op, I64Attr:$chunk, I64Attr:$key_dim, I64Attr:$value_dim,
                       StrAttr:$compute, StrAttr:$from, StrAttr:$to, TypeAttr:$dtype, StrAttr:$dim, StrAttr:$arch,
                       DefaultValuedAttr<I64Attr, "1">:$segments);
  let assemblyFormat = [{
    $sym_name `for` $op `chunk` $chunk `head` $key_dim `x` $value_dim `compute` $compute `arch` $arch `from` $from `to`
    $to `over` $dim `as` $dtype attr-dict
  }];
  let hasVerifier = 1;
}

def Warp_HeadSumOp : Warp_Op<"head_sum"> {
  let summary = "A kernel that sums a workspace [B,T,H,D], or [B,T,H] over \"1\", over the heads that share one";
  let arguments = (ins StrAttr:$sym_name, StrAttr:$op, I64Attr:$chunk, I64Attr:$key_dim, I64Attr:$value_dim,
                       StrAttr:$compute, StrAttr:$from, StrAttr:$to, TypeAttr:$dtype, StrAttr:$dim, StrAttr:$arch);
  let assemblyFormat = [{
    $sym_name `for` $op `chunk` $chunk `head` $key_dim `x` $value_dim `compute` $compute `arch` $arch `from` $from `to`
    $to `over` $dim `as` $dtype attr-dict
  }];
  let hasVerifier = 1;
}

def Warp_CombineOp : Warp_Op<"combine"> {
  let summary = "A kernel that turns the summaries of segments into the state before each, from that of the sequence";
  let description = [{
    Blocks of a sequence share its rows of the state; `initial` and `workspace` are tensors by name, the first of which has
    the given dtype and dims.
  }];
  let arguments = (ins StrAttr:$sym_name, StrAttr:$op, I64Attr:$chunk, I64Attr:$key_dim, I64Attr:$value_dim,
                       StrAttr:$compute, StrAttr:$initial, StrAttr:$workspace, I64Attr:$segments, StrAttr:$map,
                       UnitAttr:$backward, StrAttr:$arch, DefaultValuedAttr<StrAttr, "\"f32\"">:$initial_dtype,
                       DefaultValuedAttr<StrAttr, "\"B,H,V,K\"">:$initial_dims);
  let assemblyFormat = [{
    $sym_name `for` $op `chunk` $chunk `head` $key_dim `x` $value_dim `compute` $compute `arch` $arch `from` $initial `in`
    $workspace `segments` $segments `map` $map (`backward` $backward^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===- Kernels without scales, and what they refuse ------------------------------------------------------------===//
//
// `tensor` is a workspace with a number for each block: whether it has refused.

def Warp_OnlyRefusedOp : Warp_Op<"only_refused"> {
  let summary = "In a refused kernel: blocks end here that the plain kernel before it did not refuse";
  let arguments = (ins StrAttr:$tensor);
  let assemblyFormat = "$tensor attr-dict";
}

def Warp_ExpectOp : Warp_Op<"expect"> {
  let summary = "In a plain kernel: the block refuses and ends unless these inputs are of ordinary size, from a sample";
  let description = [{
    The result is the unit of `gradients`, a power of two: the gradients that come in are over it, those that go out times
    it, so that their size does not matter.
  }];
  let arguments = (ins StrAttr:$tensor, StrArrayAttr:$inputs, StrArrayAttr:$gradients);
  let results = (outs Optional<F32>:$unit);
  let assemblyFormat = "$tensor $inputs `gradients` $gradients attr-dict (`:` type($unit)^)?";
}

def Warp_RefuseOp : Warp_Op<"refuse"> {
  let summary = "In a plain kernel: the block, or its cluster, ends here if what it gave or this state is not finite";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$state);
  let assemblyFormat = "$tensor $state attr-dict `:` type($state)";
}

def Warp_TimesUnitOp : Warp_Op<"times_unit", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "Times a unit of gradients, or `over` it; rows of a summary's map have none";
  let description = "Also times a number, `factor`.";
  let arguments = (ins Warp_Tile32:$x, F32:$unit, UnitAttr:$over, UnitAttr:$of_state, OptionalAttr<F32Attr>:$factor);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = [{
    $x `,` $unit (`over` $over^)? (`of_state` $of_state^)? (`factor` $factor^)? attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}

def Warp_TimesPowerOp : Warp_Op<"times_power", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "A state times 2^exponent; `of_state`: but for rows of a summary's map";
  let arguments = (ins Warp_Tile32:$x, I64Attr:$exponent, UnitAttr:$of_state);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x `exponent` $exponent (`of_state` $of_state^)? attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Warp_PlusExponentOp : Warp_Op<"plus_exponent", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "Exponents of two, plus that of a unit of gradients, or `less` it: what is multiplied by them needs no times_unit";
  let description = "Also plus a `number`.";
  let arguments = (ins Warp_Tile32:$x, F32:$unit, UnitAttr:$less, OptionalAttr<F32Attr>:$number);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x (`less` $less^)? `,` $unit (`number` $number^)? attr-dict `:` type($x)";
  let hasVerifier = 1;
}

//===- Shared memory -------------------------------------------------------------------------------------------===//

// `from` and `to` are the phases between which the contents live.
def Warp_RingOp : Warp_Op<"ring"> {
  let summary = "Raw chunks of an input, `stages` of them in flight";
  let description = [{
    In use between the phases given, or in all; from a later one to an earlier one: over the end of a round, for the next.
    One warp copies a tensor as a whole. `exchanged`: rows of 16-bit elements
    are not padded, their pieces exchanged. `early`: copied for the next chunk before the current one is done with, apart
    from others.
  }];
  let arguments = (ins StrAttr:$tensor, I64Attr:$offset, I64Attr:$stages, I64Attr:$warp, UnitAttr:$backward,
                       UnitAttr:$exchanged, UnitAttr:$early,
                       OptionalAttr<I64Attr>:$from, OptionalAttr<I64Attr>:$to);
  let results = (outs Warp_Shared:$result);
  let assemblyFormat = [{
    $tensor `offset` $offset `stages` $stages `by` $warp (`backward` $backward^)?
    (`exchanged` $exchanged^)? (`early` $early^)? (`live` $from^ `to` $to)? attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_BufferOp : Warp_Op<"buffer"> {
  let summary = "A tile that warps exchange; with `scale`, a float at that offset belongs to it";
  let description = [{
    With `slabs "rows"` or `slabs "columns"` each warp makes 16 of its rows or columns, and there is one scale for each.
  }];
  let arguments = (ins I64Attr:$offset, OptionalAttr<I64Attr>:$scale, OptionalAttr<StrAttr>:$slabs, I64Attr:$from,
                       I64Attr:$to);
  let results = (outs Warp_Shared:$result);
  let assemblyFormat = [{
    `offset` $offset (`scale` $scale^)? (`slabs` $slabs^)? `live` $from `to` $to attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_FloatsOp : Warp_Op<"floats"> {
  let summary = "An array of f32 that warps exchange: a row or a column, parts of one, or one maximum a warp";
  let arguments = (ins I64Attr:$offset, I64Attr:$from, I64Attr:$to);
  let results = (outs Warp_Floats:$result);
  let assemblyFormat = "`offset` $offset `live` $from `to` $to attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Warp_StagedOp : Warp_Op<"staged"> {
  let summary = "A state on its way to registers: each warp its own 16 rows, in the order of its registers";
  let arguments = (ins I64Attr:$offset, I64Attr:$from, I64Attr:$to);
  let results = (outs Warp_Shared:$result);
  let assemblyFormat = "`offset` $offset `live` $from `to` $to attr-dict `:` type($result)";
}

//===- Control -------------------------------------------------------------------------------------------------===//

def Warp_LoopOp : Warp_Op<"loop", [SingleBlock, AllTypesMatch<["init", "result"]>]> {
  let summary = "Chunks in order, carrying the state";
  let description = [{
    Over all "chunks", from the first or `backward` from the last. Over "groups" of `saved_every` chunks from the last to
    the first, with loops in it over a "group": forward over all but its last chunk, backward over all of it. `ahead`: each
    group starts the copies of the next; those of the first start in a group before it that has no chunks.
    In a kernel of teams over "rounds" of a chunk for each, with loops in it over the chunks of the "round": in a backward
    kernel one for the saved state first, then one `backward`; in a warp.again of one before. `beside`: at once with the
    one before it, of which it needs nothing.
  }];
  let arguments = (ins Warp_Tile32:$init, DefaultValuedAttr<StrAttr, "\"chunks\"">:$over, UnitAttr:$backward,
                       UnitAttr:$ahead, UnitAttr:$beside);
  let results = (outs Warp_Tile32:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $init (`over` $over^)? (`backward` $backward^)? (`ahead` $ahead^)? (`beside` $beside^)?
    attr-dict-with-keyword `:` type($init) $body
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
  let summary = "In a loop over rounds, of which every other one has a saved state: the state before the second";
  let description = [{
    From the saved state, through the first round again, which this is the body of, with a loop over the round; before a
    first round the saved state as it is.
  }];
  let arguments = (ins Warp_Tile:$saved);
  let results = (outs Warp_Tile:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$saved attr-dict-with-keyword `:` type($saved) $body";
  let hasRegionVerifier = 1;
}

def Warp_PrepareOp : Warp_Op<"prepare", [SingleBlock, NoTerminator]> {
  let summary = "In a kernel of 2 rounds: what the teams' warps do for each round, and nothing after";
  let description = "Each team's part of a round, from where it claims its slot to where it publishes it.";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
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

def Warp_YieldOp : Warp_Op<"yield", [Terminator, ParentOneOf<["LoopOp", "AgainOp"]>]> {
  let arguments = (ins Warp_Tile:$next);
  let assemblyFormat = "$next attr-dict `:` type($next)";
}

def Warp_EndLastOp : Warp_Op<"end_last"> {
  let summary = "In a loop over a round: the last chunk ends here; what follows is for the next one, for all warps alike";
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

def Warp_BarrierOp : Warp_Op<"barrier"> {
  let summary = "All warps of the block; what precedes is visible to what follows";
  let description = "`refuses`: the block of a plain kernel ends here if anything that it gave so far is not finite.";
  let arguments = (ins UnitAttr:$refuses);
  let assemblyFormat = "(`refuses` $refuses^)? attr-dict";
}

def Warp_BeforeAsyncReadsOp : Warp_Op<"before_async_reads"> {
  let summary = "In a warp.team: what this warp has stored is there for contractions by groups, once warps have met";
  let assemblyFormat = "attr-dict";
}

def Warp_NoteOp : Warp_Op<"note"> {
  let summary = "A comment in the emitted text";
  let arguments = (ins StrAttr:$text);
  let assemblyFormat = "$text attr-dict";
}

//===- Copies of the inputs ------------------------------------------------------------------------------------===//

def Warp_CopyOp : Warp_Op<"copy"> {
  let summary = "Starts copying the chunk `ahead` of the current one into its ring; before the loop, chunk `ahead`";
  let description = [{
    For the `next` group: its first chunk. Of a team: of the round that it prepares next, where it prepares some again.
  }];
  let arguments = (ins Warp_Shared:$ring, I64Attr:$ahead, UnitAttr:$next);
  let assemblyFormat = "$ring `ahead` $ahead (`next` $next^)? attr-dict `:` type($ring)";
  let hasVerifier = 1;
}
def Warp_CommitCopiesOp : Warp_Op<"commit_copies"> { let assemblyFormat = "attr-dict"; }
def Warp_WaitCopiesOp : Warp_Op<"wait_copies"> {
  let summary = "Waits until at most `pending` commits of this warp are under way";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}
def Warp_CurrentOp : Warp_Op<"current", [Pure, AllTypesMatch<["ring", "result"]>]> {
  let summary = "The tile of the current chunk in a ring";
  let arguments = (ins Warp_Shared:$ring);
  let results = (outs Warp_Shared:$result);
  let assemblyFormat = "$ring attr-dict `:` type($result)";
}

//===- Scales --------------------------------------------------------------------------------------------------===//

def Warp_PublishMaxOp : Warp_Op<"publish_max"> {
  let summary = "The largest |x| of a register tile to this warp's slot, or of a ring's current tile to the only one";
  let arguments = (ins AnyTypeOf<[Warp_Tile32, Warp_Shared]>:$x, Warp_Floats:$slots);
  let assemblyFormat = "$x `,` $slots attr-dict `:` type($x) `,` type($slots)";
}
def Warp_ScaleForOp : Warp_Op<"scale_for"> {
  let summary = "The power of two for a magnitude of `factor` times the product of the slots' maxima";
  let description = "Or the sum of several products, of as many slots each as `counts` says.";
  let arguments = (ins Variadic<Warp_Floats>:$slots, OptionalAttr<DenseI64ArrayAttr>:$counts, F32Attr:$factor);
  let results = (outs F32:$result);
  let assemblyFormat = "$slots (`counts` $counts^)? `times` $factor attr-dict `:` type($slots)";
  let hasVerifier = 1;
}

def Warp_OwnScaleOp : Warp_Op<"own_scale", [Pure]> {
  let summary = "The power of two for a magnitude of `factor` times the largest |x| of this warp's tile";
  let arguments = (ins Warp_Tile32:$x, F32Attr:$factor);
  let results = (outs F32:$result);
  let assemblyFormat = "$x `times` $factor attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Warp_ScaleOfOp : Warp_Op<"scale_of"> {
  let summary = "The scale that lies beside a shared tile";
  let arguments = (ins Warp_Shared:$x);
  let results = (outs F32:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}


def Warp_BoundOp : Warp_Op<"bound", [AttrSizedOperandSegments]> {
  let summary = "`factor` times the product of the slots' maxima and of scales, over the product of others";
  let arguments = (ins Variadic<Warp_Floats>:$slots, Variadic<F32>:$scales, Variadic<F32>:$under, F32Attr:$factor);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $factor (`slots` `(` $slots^ `:` type($slots) `)`)? (`scales` `(` $scales^ `)`)? (`under` `(` $under^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Warp_StoreNumberOp : Warp_Op<"store_number"> {
  let summary = "The sum of numbers that a warp knows, for others";
  let arguments = (ins Variadic<F32>:$x, Warp_Floats:$to);
  let assemblyFormat = "`(` $x `)` `to` $to attr-dict `:` type($to)";
  let hasVerifier = 1;
}
def Warp_LoadNumberOp : Warp_Op<"load_number"> {
  let arguments = (ins Warp_Floats:$from);
  let results = (outs F32:$result);
  let assemblyFormat = "$from attr-dict `:` type($from)";
  let hasVerifier = 1;
}

//===- Between shared memory and registers ---------------------------------------------------------------------===//

def Warp_LoadOp : Warp_Op<"load"> {
  let summary = "A tile: of everything, of the slab at `column`, of this warp's value columns, transposed or not, or rows";
  let arguments = (ins Warp_Shared:$tile, Optional<Index>:$column, UnitAttr:$own, UnitAttr:$transposed,
                       UnitAttr:$own_rows);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = [{
    $tile (`[` $column^ `]`)? (`own` $own^)? (`own_rows` $own_rows^)? (`transposed` $transposed^)? attr-dict `:` type($tile) `->` type($result)
  }];
  let hasVerifier = 1;
}
def Warp_StoreOp : Warp_Op<"store"> {
  let summary = "The converse of load: everything, the slab at `column`, the warp's own rows, or its own columns";
  let description = "Own columns come transposed: the tile's rows are the columns.";
  let arguments = (ins Warp_Tile:$x, Warp_Shared:$tile, Optional<Index>:$column, UnitAttr:$own_rows,
                       UnitAttr:$own_columns);
  let assemblyFormat = [{
    $x `,` $tile (`[` $column^ `]`)? (`own_rows` $own_rows^)? (`own_columns` $own_columns^)? attr-dict `:` type($x) `,`
    type($tile)
  }];
  let hasVerifier = 1;
}
def Warp_LoadVectorOp : Warp_Op<"load_vector"> {
  let summary = "A row or a column, or 16 numbers of it; the sum of several if there are `parts`, one after the other";
  let description = "Before the loops over a round: that `of` its \"first\" or \"last\" chunk.";
  let arguments = (ins Warp_Floats:$from, Optional<Index>:$column, OptionalAttr<I64Attr>:$parts,
                       OptionalAttr<StrAttr>:$of);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = [{
    $from (`[` $column^ `]`)? (`parts` $parts^)? (`of` $of^)? attr-dict `:` type($from) `->` type($result)
  }];
  let hasVerifier = 1;
}
def Warp_JoinRowsOp : Warp_Op<"join_rows", [SameTypeOperands]> {
  let summary = "Multiplies a team's row `last`, in place, by the row `first` of the next chunk in its round, if there is one";
  let description = "For one warp to do, between the barrier behind which all rows are there and that before the states.";
  let arguments = (ins Warp_Floats:$last, Warp_Floats:$first);
  let assemblyFormat = "$last `,` $first attr-dict `:` type($last)";
}
def Warp_LoadJoinedOp : Warp_Op<"load_joined", [AllTypesMatch<["last", "first"]>]> {
  let summary = "Backward through a round: the joined row `last` of the chunk that comes next, or after all `first` as it is";
  let arguments = (ins Warp_Floats:$last, Warp_Floats:$first);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$last `,` $first attr-dict `:` type($last) `->` type($result)";
  let hasVerifier = 1;
}
def Warp_StoreVectorOp : Warp_Op<"store_vector"> {
  let summary = "A row or a column: at `column`, or as this warp's or this slab's part of a sum";
  let arguments = (ins Warp_Tile32:$x, Warp_Floats:$to, Optional<Index>:$column, UnitAttr:$part);
  let assemblyFormat = [{
    $x `,` $to (`[` $column^ `]`)? (`part` $part^)? attr-dict `:` type($x) `,` type($to)
  }];
  let hasVerifier = 1;
}
def Warp_AddVectorOp : Warp_Op<"add_vector"> {
  let summary = "Adds 16 numbers to a running sum that one warp owns: at `column`, or of this warp's value rows";
  let arguments = (ins Warp_Tile32:$x, Warp_Floats:$to, Optional<Index>:$column);
  let assemblyFormat = "$x `,` $to (`[` $column^ `]`)? attr-dict `:` type($x) `,` type($to)";
  let hasVerifier = 1;
}
def Warp_ParameterOp : Warp_Op<"parameter"> {
  let summary = "Of a per-head vector: the slab's part at `column`, a row, or 16 numbers beside this warp's value rows";
  let arguments = (ins StrAttr:$tensor, Optional<Index>:$column, TypeAttr:$dtype);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$tensor (`[` $column^ `]`)? `as` $dtype attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Warp_TokensOp : Warp_Op<"tokens", [Pure]> {
  let summary = "One number for each token of the chunk, or the head's for all of them, as a column or as a row";
  let arguments = (ins StrAttr:$tensor, TypeAttr:$dtype);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$tensor `as` $dtype attr-dict `:` type($result)";
}

//===- Tiles ---------------------------------------------------------------------------------------------------===//

def Warp_CallOp : Warp_Op<"call", [Pure]> {
  let summary = "A function of templates/ on f32 tiles; `constant` is a number it takes beside them";
  let arguments = (ins StrAttr:$function, Variadic<AnyTypeOf<[Warp_Tile, Warp_Shared]>>:$x,
                       OptionalAttr<F32Attr>:$constant);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = [{
    $function `(` $x `)` (`with` $constant^)? attr-dict `:` functional-type($x, $result)
  }];
  let hasVerifier = 1;
}

def Warp_DecayingOp : Warp_Op<"decaying", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "A state that is still to be multiplied by a row, or by nothing: what it is multiplied by next comes to it";
  let arguments = (ins Warp_Tile32:$x, Optional<Warp_Tile32>:$row);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x (`,` $row^)? attr-dict `:` type($x) (`,` type($row)^)?";
  let hasVerifier = 1;
}

def Warp_SettledOp : Warp_Op<"settled", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "The state, multiplied";
  let arguments = (ins Warp_Tile32:$x);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Warp_UnitLowerInverseOp : Warp_Op<"unit_lower_inverse", [AllTypesMatch<["x", "result"]>]> {
  let summary = "(I − x)⁻¹ of a strictly lower triangular x, on one warp; `scratch` is its own";
  let arguments = (ins Warp_Tile32:$x, Warp_Floats:$scratch, StrAttr:$dtype);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x `,` $scratch `in` $dtype attr-dict `:` type($x) `,` type($scratch)";
  let hasVerifier = 1;
}

def Warp_RoundOp : Warp_Op<"round", [Pure, AttrSizedOperandSegments]> {
  let summary = "An operand in its dtype; f16 with the scale given, with one of its own maximum, or without";
  let description = [{
    `in_scale`: with the one that x carries, which may change as it is rounded, so that operands made with it of at most
    `slope` times x, and `offset`, fit, too. `as_is`: with the one that x carries, which fits.
  }];
  let arguments = (ins Warp_Tile32:$x, Optional<F32>:$scale, Optional<F32>:$slope, Optional<F32>:$offset,
                       UnitAttr:$own, UnitAttr:$in_scale, UnitAttr:$as_is);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = [{
    $x (`scale` $scale^)? (`own` $own^)? (`in_scale` $in_scale^)? (`slope` $slope^ `offset` $offset)?
    (`as_is` $as_is^)? attr-dict `:` type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_RoundBesideOp : Warp_Op<"round_beside", [Pure]> {
  let summary = "An operand with which operands of scale `other` make products in the scale of `state`, an operand, too";
  let description = "x is a value, or an operand in another scale: the one that it carries, or of a loaded one that given.";
  let arguments = (ins Warp_Tile:$x, Optional<F32>:$scale, Warp_Tile:$state, F32:$other);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = [{
    $x (`scale` $scale^)? `,` $state `over` $other attr-dict `:` type($x) `,` type($state) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_FitScaleOp : Warp_Op<"fit_scale", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "A sum whose scale all warps share, in one in which operands made with it fit f16, of at most `slope` times it, and `offset`";
  let description = "`slots`: of the largest |x| of each warp. The scale changes for all of them or for none.";
  let arguments = (ins Warp_Tile32:$x, Warp_Floats:$slots, F32:$slope, F32:$offset);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x `,` $slots `slope` $slope `offset` $offset attr-dict `:` type($x) `,` type($slots)";
}

def Warp_LeaveScaleOp : Warp_Op<"leave_scale"> {
  let summary = "The scale that an operand carries, the same for all warps of the block: by its first, for others";
  let arguments = (ins Warp_Tile:$x, Warp_Floats:$to);
  let assemblyFormat = "$x `to` $to attr-dict `:` type($x) `,` type($to)";
  let hasVerifier = 1;
}

def Warp_WithScaleOp : Warp_Op<"with_scale", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "A sum that carries a scale: it may be multiplied by rows, accumulated on and rounded in its scale";
  let description = "`unit`: a scale of 1, for all warps the same, instead of one for this warp's rows.";
  let arguments = (ins Warp_Tile32:$x, UnitAttr:$unit);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x (`unit` $unit^)? attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Warp_WithoutScaleOp : Warp_Op<"without_scale", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "What a sum that carries a scale means";
  let arguments = (ins Warp_Tile32:$x);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Warp_WidenOp : Warp_Op<"widen", [Pure]> {
  let summary = "An operand as f32, times the scale given or the one that a register tile carries";
  let arguments = (ins Warp_Tile:$x, Optional<F32>:$scale);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x (`scale` $scale^)? attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Warp_WidenOverOp : Warp_Op<"widen_over", [Pure]> {
  let summary = "A tile of an input as f32, over a scale: what is rounded with that scale needs no multiplication then";
  let arguments = (ins Warp_Tile:$x, F32:$scale);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x `scale` $scale attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Warp_TransposeOp : Warp_Op<"transpose", [Pure]> {
  let summary = "A tile that this warp has made, transposed: an operand of a contraction over its rows";
  let arguments = (ins Warp_Tile:$x);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Warp_ZerosOp : Warp_Op<"zeros", [Pure]> {
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Warp_MmaOp : Warp_Op<"mma", [Pure, AttrSizedOperandSegments, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc[m,n] + Σ_k x[m,k]·y[n,k], either operand read transposed if it says so, shared ones with a scale";
  let description = [{
    `in_scale`: x, a register tile with a scale, is brought to the scale that acc carries. What that loses does not count
    beside a sum that was rounded in its scale. `same_scale`: acc carries the product of the operands' scales. `new_scale`:
    the result does, acc carries none. `by_groups`: four warps with rows of their own read y together, which no scale goes
    with and which teams have made. `x_triangle`, `y_triangle`: as it is contracted, that operand is zero above its
    diagonal ("lower") or below it ("upper"), and nothing of the other operand that only meets those zeros reaches the
    result, be it NaN.

    `factors` says in names what product is added, for a comment of the text: ["M", "U0"], ["S", "k^T"]. Tiles of value
    rows by tokens are the transpose of what their names say.
  }];
  let arguments = (ins Warp_Tile32:$acc, Warp_Operand:$x, Warp_Operand:$y, Optional<F32>:$x_scale,
                       Optional<F32>:$y_scale, Optional<Index>:$y_column, UnitAttr:$x_transposed,
                       UnitAttr:$y_transposed, UnitAttr:$in_scale, UnitAttr:$same_scale,
                       UnitAttr:$new_scale, UnitAttr:$by_groups, OptionalAttr<StrAttr>:$x_triangle,
                       OptionalAttr<StrAttr>:$y_triangle, OptionalAttr<StrArrayAttr>:$factors);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = [{
    $acc `,` $x (`x_transposed` $x_transposed^)? (`x_triangle` $x_triangle^)? (`x_scale` $x_scale^)? `,` $y
    (`[` $y_column^ `]`)? (`y_transposed` $y_transposed^)? (`y_triangle` $y_triangle^)? (`y_scale` $y_scale^)?
    (`in_scale` $in_scale^)?
    (`same_scale` $same_scale^)? (`new_scale` $new_scale^)? (`by_groups` $by_groups^)?
    (`factors` $factors^)? attr-dict `:` type($acc) `,` type($x) `,` type($y)
  }];
  let hasVerifier = 1;
}

def Warp_ColumnDotsOp : Warp_Op<"column_dots", [Pure, AttrSizedOperandSegments]> {
  let summary = "Σ_v x[v,k]·y[v,k] for the columns k of the slab at `column`, a row; operands with a scale each";
  let description = [{
    Or for all columns of operands in registers, which hold them transposed, without scales; and to that the sum of all
    `rows` of another tile, for which lanes meet once.
  }];
  let arguments = (ins Warp_Operand:$x, Warp_Operand:$y, Optional<F32>:$x_scale, Optional<F32>:$y_scale,
                       Optional<Index>:$column, Optional<Warp_Tile32>:$rows);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = [{
    $x (`x_scale` $x_scale^)? `,` $y (`y_scale` $y_scale^)? (`[` $column^ `]`)? (`rows` $rows^)? attr-dict
    `:` type($x) `,` type($y) (`,` type($rows)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

//===- Global memory -------------------------------------------------------------------------------------------===//

def Warp_StartSummaryOp : Warp_Op<"start_summary", [Pure]> {
  let summary = "This warp's 16 rows of what a summary begins with: zero, or those of the map that changes nothing";
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Warp_LoadStateOp : Warp_Op<"load_state"> {
  let summary = "This warp's 16 rows: of the sequence's state, or in a workspace of the segment's";
  let arguments = (ins StrAttr:$tensor);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$tensor attr-dict `:` type($result)";
}
def Warp_StoreStateOp : Warp_Op<"store_state"> {
  let summary = "The converse; what the last segment leaves is the sequence's state";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x);
  let assemblyFormat = "$tensor $x attr-dict `:` type($x)";
}
def Warp_LoadSavedOp : Warp_Op<"load_saved"> {
  let summary = "This warp's 16 rows of the state before the current chunk or group, as saved or recomputed";
  let arguments = (ins StrAttr:$tensor);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = "$tensor attr-dict `:` type($result)";
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
def Warp_LoadStagedOp : Warp_Op<"load_staged"> {
  let summary = "This warp's 16 rows, once they are copied";
  let arguments = (ins Warp_Shared:$staged);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = "$staged attr-dict `:` type($staged) `->` type($result)";
  let hasVerifier = 1;
}
def Warp_StageStateOp : Warp_Op<"stage_state"> {
  let summary = "Puts this warp's 16 rows where load_staged finds them";
  let arguments = (ins Warp_Tile32:$x, Warp_Shared:$staged);
  let assemblyFormat = "$x `,` $staged attr-dict `:` type($x) `,` type($staged)";
}
def Warp_SaveStateOp : Warp_Op<"save_state"> {
  let summary = "Saves this warp's 16 rows of the state before the current chunk, if it is one that is saved";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, TypeAttr:$dtype);
  let assemblyFormat = "$tensor $x `as` $dtype attr-dict `:` type($x)";
}
def Warp_StoreIntermediateOp : Warp_Op<"store_intermediate"> {
  let summary = "Stores this warp's 16 rows of the state behind the current chunk, `every` so many tokens, if it is whole";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, I64Attr:$every);
  let assemblyFormat = "$tensor $x `every` $every attr-dict `:` type($x)";
}
def Warp_KeepStateOp : Warp_Op<"keep_state"> {
  let summary = "Keeps this warp's 16 rows for the loop backward: before the group, or after the current chunk in it";
  let description = "`but_last`: unless the next chunk is the group's last one.";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, TypeAttr:$dtype, UnitAttr:$but_last);
  let assemblyFormat = "$tensor $x `as` $dtype (`but_last` $but_last^)? attr-dict `:` type($x)";
}
def Warp_StoreOutputOp : Warp_Op<"store_output"> {
  let summary = "16 columns of an output: at `column`, or this warp's own; `transposed`: the tile's rows are the columns";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, TypeAttr:$dtype, Optional<Index>:$column, UnitAttr:$transposed);
  let assemblyFormat = [{
    $tensor $x (`[` $column^ `]`)? (`transposed` $transposed^)? `as` $dtype attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}
def Warp_StoreMatrixOp : Warp_Op<"store_matrix"> {
  let summary = "A matrix of the chunk's tokens by its tokens, a row for each token; for one warp to do";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, TypeAttr:$dtype);
  let assemblyFormat = "$tensor $x `as` $dtype attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def Warp_StoreTokensOp : Warp_Op<"store_tokens"> {
  let summary = "One number for each token of the chunk; for one warp to do";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, TypeAttr:$dtype);
  let assemblyFormat = "$tensor $x `as` $dtype attr-dict `:` type($x)";
}
def Warp_StoreSumOp : Warp_Op<"store_sum"> {
  let summary = "16 numbers of a running sum to a workspace [B,H,D]: at `column`, or of this warp's value rows";
  let arguments = (ins StrAttr:$tensor, Warp_Floats:$from, Optional<Index>:$column);
  let assemblyFormat = "$tensor $from (`[` $column^ `]`)? attr-dict `:` type($from)";
}

#endif
