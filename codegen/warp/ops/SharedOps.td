// Shared memory, and what goes between it and registers.
#ifndef WKVC_WARP_SHARED_OPS
#define WKVC_WARP_SHARED_OPS

include "codegen/warp/ops/WarpBase.td"

// `from` and `to` are the phases between which the contents live.
def Warp_RingOp : Warp_Op<"ring"> {
  let summary = "Raw chunks of an input, `stages` of them in flight";
  let description = [{
    In use between the phases given, or in all; from a later one to an earlier one: over the end of a round, for the next.
    One warp copies a tensor as a whole. `exchanged`: rows of 16-bit elements
    are not padded, their pieces exchanged. `early`: copied for the next chunk before the current one is done with, apart
    from others.
  }];
  let arguments = (ins StrAttr:$tensor, Optional<Warp_Channel>:$channel, I64Attr:$offset, I64Attr:$stages, I64Attr:$warp, UnitAttr:$backward,
                       UnitAttr:$exchanged, UnitAttr:$early,
                       OptionalAttr<I64Attr>:$from, OptionalAttr<I64Attr>:$to);
  let results = (outs Warp_Shared:$result);
  let assemblyFormat = [{
    $tensor (`in` $channel^)? `offset` $offset `stages` $stages `by` $warp (`backward` $backward^)?
    (`exchanged` $exchanged^)? (`early` $early^)? (`live` $from^ `to` $to)? attr-dict
    `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Warp_BufferOp : Warp_Op<"buffer"> {
  let summary = "A tile that warps exchange; with `scale`, a float at that offset belongs to it";
  let description = [{
    With `slabs rows` or `slabs columns` each warp makes 16 of its rows or columns, and there is one scale for each.
  }];
  let arguments = (ins Optional<Warp_Channel>:$channel, I64Attr:$offset, OptionalAttr<I64Attr>:$scale, OptionalAttr<Warp_Slabs>:$slabs, I64Attr:$from,
                       I64Attr:$to);
  let results = (outs Warp_Shared:$result);
  let assemblyFormat = [{
    (`in` $channel^)? `offset` $offset (`scale` $scale^)? (`slabs` $slabs^)? `live` $from `to` $to attr-dict `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Warp_FloatsOp : Warp_Op<"floats"> {
  let summary = "An array of f32 that warps exchange: a row or a column, parts of one, or one maximum a warp";
  let arguments = (ins Optional<Warp_Channel>:$channel, I64Attr:$offset, I64Attr:$from, I64Attr:$to);
  let results = (outs Warp_Floats:$result);
  let assemblyFormat = "(`in` $channel^)? `offset` $offset `live` $from `to` $to attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Warp_StagedOp : Warp_Op<"staged"> {
  let summary = "A state on its way to registers: each warp its own 16 rows, in the order of its registers";
  let arguments = (ins I64Attr:$offset, I64Attr:$from, I64Attr:$to);
  let results = (outs Warp_Shared:$result);
  let assemblyFormat = "`offset` $offset `live` $from `to` $to attr-dict `:` qualified(type($result))";
}

def Warp_CurrentOp : Warp_Op<"current", [Pure, AllTypesMatch<["ring", "result"]>]> {
  let summary = "The tile of the current chunk in a ring";
  let arguments = (ins Warp_Shared:$ring);
  let results = (outs Warp_Shared:$result);
  let assemblyFormat = "$ring attr-dict `:` qualified(type($result))";
}

def Warp_LoadOp : Warp_Op<"load"> {
  let summary = "A tile: of everything, of the slab at `column`, of this warp's value columns, transposed or not, or rows";
  let arguments = (ins Warp_Shared:$tile, Optional<Index>:$column, UnitAttr:$own, UnitAttr:$transposed,
                       UnitAttr:$own_rows);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = [{
    $tile (`[` $column^ `]`)? (`own` $own^)? (`own_rows` $own_rows^)? (`transposed` $transposed^)? attr-dict `:` qualified(type($tile)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Warp_StoreOp : Warp_Op<"store"> {
  let summary = "The converse of load: everything, the slab at `column`, the warp's own rows, or its own columns";
  let description = "Own columns come transposed: the tile's rows are the columns.";
  let arguments = (ins Warp_Tile:$x, Warp_Shared:$tile, Optional<Index>:$column, UnitAttr:$own_rows,
                       UnitAttr:$own_columns);
  let assemblyFormat = [{
    $x `,` $tile (`[` $column^ `]`)? (`own_rows` $own_rows^)? (`own_columns` $own_columns^)? attr-dict `:` qualified(type($x)) `,`
    qualified(type($tile))
  }];
  let hasVerifier = 1;
}

def Warp_LoadVectorOp : Warp_Op<"load_vector"> {
  let summary = "A row or a column, or 16 numbers of it; the sum of several if there are `parts`, one after the other";
  let description = "Before the sweeps over a round: that `of` its `first` or `last` chunk.";
  let arguments = (ins Warp_Floats:$from, Optional<Index>:$column, OptionalAttr<I64Attr>:$parts,
                       OptionalAttr<Warp_ChunkOfRound>:$of);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = [{
    $from (`[` $column^ `]`)? (`parts` $parts^)? (`of` $of^)? attr-dict `:` qualified(type($from)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Warp_StoreVectorOp : Warp_Op<"store_vector"> {
  let summary = "A row or a column: at `column`, or as this warp's or this slab's part of a sum";
  let arguments = (ins Warp_Tile32:$x, Warp_Floats:$to, Optional<Index>:$column, UnitAttr:$part);
  let assemblyFormat = [{
    $x `,` $to (`[` $column^ `]`)? (`part` $part^)? attr-dict `:` qualified(type($x)) `,` qualified(type($to))
  }];
  let hasVerifier = 1;
}

def Warp_AddVectorOp : Warp_Op<"add_vector"> {
  let summary = "Adds 16 numbers to a running sum that one warp owns: at `column`, or of this warp's value rows";
  let arguments = (ins Warp_Tile32:$x, Warp_Floats:$to, Optional<Index>:$column);
  let assemblyFormat = "$x `,` $to (`[` $column^ `]`)? attr-dict `:` qualified(type($x)) `,` qualified(type($to))";
  let hasVerifier = 1;
}

def Warp_JoinRowsOp : Warp_Op<"join_rows", [SameTypeOperands]> {
  let summary = "Multiplies a team's row `last`, in place, by the row `first` of the next chunk in its round, if there is one";
  let description = "For one warp to do, between the barrier behind which all rows are there and that before the states.";
  let arguments = (ins Warp_Floats:$last, Warp_Floats:$first);
  let assemblyFormat = "$last `,` $first attr-dict `:` qualified(type($last))";
}

def Warp_LoadJoinedOp : Warp_Op<"load_joined", [AllTypesMatch<["last", "first"]>]> {
  let summary = "Backward through a round: the joined row `last` of the chunk that comes next, or after all `first` as it is";
  let arguments = (ins Warp_Floats:$last, Warp_Floats:$first);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$last `,` $first attr-dict `:` qualified(type($last)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Warp_LoadStagedOp : Warp_Op<"load_staged"> {
  let summary = "This warp's 16 rows, once they are copied";
  let arguments = (ins Warp_Shared:$staged);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = "$staged attr-dict `:` qualified(type($staged)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Warp_StageStateOp : Warp_Op<"stage_state"> {
  let summary = "Puts this warp's 16 rows where load_staged finds them";
  let arguments = (ins Warp_Tile32:$x, Warp_Shared:$staged);
  let assemblyFormat = "$x `,` $staged attr-dict `:` qualified(type($x)) `,` qualified(type($staged))";
}

def Warp_StoreNumberOp : Warp_Op<"store_number"> {
  let summary = "The sum of numbers that a warp knows, for others";
  let arguments = (ins Variadic<F32>:$x, Warp_Floats:$to);
  let assemblyFormat = "`(` $x `)` `to` $to attr-dict `:` qualified(type($to))";
  let hasVerifier = 1;
}

def Warp_LoadNumberOp : Warp_Op<"load_number"> {
  let arguments = (ins Warp_Floats:$from);
  let results = (outs F32:$result);
  let assemblyFormat = "$from attr-dict `:` qualified(type($from))";
  let hasVerifier = 1;
}

#endif
