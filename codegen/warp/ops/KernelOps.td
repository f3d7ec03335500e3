// Kernels of a module, and which blocks of them go on.
#ifndef WKVC_WARP_KERNEL_OPS
#define WKVC_WARP_KERNEL_OPS

include "codegen/warp/ops/WarpBase.td"

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
    Where teams have warps of their own, the role that prepares has these, a round ahead of the state's, and there are
    slots for two rounds, by turns. What lies in no channel is then the team's for all rounds; mbarriers
    that say when a slot is prepared and when it is free lie behind all slots of a channel, 16 bytes for each.
    The slots of one channel lie behind those of the other.

    Then a cluster of blocks may run a head together: each has a part of its rows, and as many teams. A round has a
    chunk for each team of each block, whose slot goes to the other blocks.

    The value rows of a head may be dealt to `parts`, with as many blocks: the kernel's `value_dim` is of one part.

    A `plain` kernel has no scales. It refuses what f16 doesn't hold without them, a block by itself, for the `refused`
    kernel that follows: the same with scales.
  }];
  let arguments = (ins StrAttr:$sym_name, StrAttr:$op, I64Attr:$warps, Wkvc_Schedule:$schedule, I64Attr:$chunk,
                       I64Attr:$key_dim, I64Attr:$value_dim, I64Attr:$shared_bytes, StrAttr:$compute,
                       StrArrayAttr:$tensors, StrAttr:$arch, UnitAttr:$backward, OptionalAttr<StrAttr>:$summary,
                       UnitAttr:$plain, UnitAttr:$refused,
                       Wkvc_Parts:$parts);
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
    int64_t getSavedEvery() { return getSchedule().checkpoint.every; }
  }];
}

def Warp_BatchSumOp : Warp_Op<"batch_sum"> {
  let summary = "A kernel that sums a workspace over all but heads and D, a block for each head";
  let description = "The workspace is [B,H,D] or [B,H,segments,D], or, over \"1\", [B,T,H].";
  let arguments = (ins StrAttr:$sym_name, StrAttr:$op, I64Attr:$chunk, I64Attr:$key_dim, I64Attr:$value_dim,
                       StrAttr:$compute, StrAttr:$from, StrAttr:$to, TypeAttr:$dtype, StrAttr:$dim, StrAttr:$arch,
                       DefaultValuedAttr<I64Attr, "1">:$segments, Wkvc_Parts:$parts);
  let assemblyFormat = [{
    $sym_name `for` $op `chunk` $chunk `head` $key_dim `x` $value_dim `compute` $compute `arch` $arch `from` $from `to`
    $to `over` $dim `as` $dtype attr-dict
  }];
  let hasVerifier = 1;
}

def Warp_HeadSumOp : Warp_Op<"head_sum"> {
  let summary = "A kernel that sums a workspace [B,T,H,D], or [B,T,H] over \"1\", over the heads that share one";
  let description = "Or, with `own_heads`, over the `parts` of each head.";
  let arguments = (ins StrAttr:$sym_name, StrAttr:$op, I64Attr:$chunk, I64Attr:$key_dim, I64Attr:$value_dim,
                       StrAttr:$compute, StrAttr:$from, StrAttr:$to, TypeAttr:$dtype, StrAttr:$dim, StrAttr:$arch,
                       UnitAttr:$own_heads, Wkvc_Parts:$parts);
  let assemblyFormat = [{
    $sym_name `for` $op `chunk` $chunk `head` $key_dim `x` $value_dim `compute` $compute `arch` $arch `from` $from `to`
    $to `over` $dim `as` $dtype attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    const char* getTerms() { return getOwnHeads() ? "the parts of a head" : "the heads"; }
  }];
}

def Warp_CombineOp : Warp_Op<"combine"> {
  let summary = "A kernel that turns the summaries of segments into the state before each, from that of the sequence";
  let description = [{
    Blocks of a sequence share its rows of the state, as many `strips` of 16 rows each, a warp for 16 keys of each strip.
    Of a "full" map a block has as many `map_rows` at once in its shared memory. `initial` and `workspace` are tensors by
    name, the first of which has the given dtype and dims.
  }];
  let arguments = (ins StrAttr:$sym_name, StrAttr:$op, I64Attr:$chunk, I64Attr:$key_dim, I64Attr:$value_dim,
                       StrAttr:$compute, StrAttr:$initial, StrAttr:$workspace, I64Attr:$segments, StrAttr:$map,
                       I64Attr:$strips, I64Attr:$map_rows, I64Attr:$shared_bytes,
                       UnitAttr:$backward, StrAttr:$arch, DefaultValuedAttr<StrAttr, "\"f32\"">:$initial_dtype,
                       DefaultValuedAttr<StrAttr, "\"B,H,V,K\"">:$initial_dims,
                       Wkvc_Parts:$parts);
  let assemblyFormat = [{
    $sym_name `for` $op `chunk` $chunk `head` $key_dim `x` $value_dim `compute` $compute `arch` $arch `from` $initial `in`
    $workspace `segments` $segments `map` $map `strips` $strips `map_rows` $map_rows `shared` $shared_bytes
    (`backward` $backward^)? attr-dict
  }];
  let hasVerifier = 1;
}

// In plain and refused kernels `tensor` is a workspace with a number for each block: whether it has refused.
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
  let assemblyFormat = "$tensor $inputs `gradients` $gradients attr-dict (`:` qualified(type($unit))^)?";
}

def Warp_RefuseOp : Warp_Op<"refuse"> {
  let summary = "In a plain kernel: the block, or its cluster, ends here if what it gave or this state is not finite";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$state);
  let assemblyFormat = "$tensor $state attr-dict `:` qualified(type($state))";
}

#endif
