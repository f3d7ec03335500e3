// What is loaded from tensors and stored to them.
#ifndef WKVC_WARP_GLOBAL_OPS
#define WKVC_WARP_GLOBAL_OPS

include "codegen/warp/ops/WarpBase.td"

def Warp_ParameterOp : Warp_Op<"parameter"> {
  let summary = "Of a per-head vector: the slab's part at `column`, a row, or 16 numbers beside this warp's value rows";
  let arguments = (ins StrAttr:$tensor, Optional<Index>:$column, TypeAttr:$dtype);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$tensor (`[` $column^ `]`)? `as` $dtype attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Warp_TokensOp : Warp_Op<"tokens", [Pure]> {
  let summary = "One number for each token of the chunk, or the head's for all of them, as a column or as a row";
  let arguments = (ins StrAttr:$tensor, TypeAttr:$dtype);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$tensor `as` $dtype attr-dict `:` qualified(type($result))";
}

def Warp_StartSummaryOp : Warp_Op<"start_summary", [Pure]> {
  let summary = "This warp's 16 rows of what a summary begins with: zero, or those of the map that changes nothing";
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
}

def Warp_LoadStateOp : Warp_Op<"load_state"> {
  let summary = "This warp's 16 rows: of the sequence's state, or in a workspace of the segment's";
  let arguments = (ins StrAttr:$tensor);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$tensor attr-dict `:` qualified(type($result))";
}

def Warp_StoreStateOp : Warp_Op<"store_state"> {
  let summary = "The converse; what the last segment leaves is the sequence's state";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x);
  let assemblyFormat = "$tensor $x attr-dict `:` qualified(type($x))";
}

def Warp_LoadSavedOp : Warp_Op<"load_saved"> {
  let summary = "This warp's 16 rows of the state before the current chunk or group, as saved or recomputed";
  let arguments = (ins StrAttr:$tensor);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = "$tensor attr-dict `:` qualified(type($result))";
}

def Warp_SaveStateOp : Warp_Op<"save_state"> {
  let summary = "Saves this warp's 16 rows of the state before the current chunk, if it is one that is saved";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, TypeAttr:$dtype);
  let assemblyFormat = "$tensor $x `as` $dtype attr-dict `:` qualified(type($x))";
}

def Warp_StoreIntermediateOp : Warp_Op<"store_intermediate"> {
  let summary = "Stores this warp's 16 rows of the state behind the current chunk, `every` so many tokens, if it is whole";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, I64Attr:$every);
  let assemblyFormat = "$tensor $x `every` $every attr-dict `:` qualified(type($x))";
}

def Warp_KeepStateOp : Warp_Op<"keep_state"> {
  let summary = "Keeps this warp's 16 rows for the loop backward: before the group, or after the current chunk in it";
  let description = "`but_last`: unless the next chunk is the group's last one.";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, TypeAttr:$dtype, UnitAttr:$but_last);
  let assemblyFormat = "$tensor $x `as` $dtype (`but_last` $but_last^)? attr-dict `:` qualified(type($x))";
}

def Warp_StoreOutputOp : Warp_Op<"store_output"> {
  let summary = "16 columns of an output: at `column`, or this warp's own; `transposed`: the tile's rows are the columns";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, TypeAttr:$dtype, Optional<Index>:$column, UnitAttr:$transposed);
  let assemblyFormat = [{
    $tensor $x (`[` $column^ `]`)? (`transposed` $transposed^)? `as` $dtype attr-dict `:` qualified(type($x))
  }];
  let hasVerifier = 1;
}

def Warp_StoreMatrixOp : Warp_Op<"store_matrix"> {
  let summary = "A matrix of the chunk's tokens by its tokens, a row for each token; for one warp to do";
  let description = "In f32, to be rounded to the dtype; in lower_f16x2 as it is.";
  let arguments = (ins StrAttr:$tensor, Warp_Tile:$x, TypeAttr:$dtype);
  let assemblyFormat = "$tensor $x `as` $dtype attr-dict `:` qualified(type($x))";
  let hasVerifier = 1;
}

def Warp_StoreTokensOp : Warp_Op<"store_tokens"> {
  let summary = "One number for each token of the chunk; for one warp to do";
  let arguments = (ins StrAttr:$tensor, Warp_Tile32:$x, TypeAttr:$dtype);
  let assemblyFormat = "$tensor $x `as` $dtype attr-dict `:` qualified(type($x))";
}

def Warp_StoreSumOp : Warp_Op<"store_sum"> {
  let summary = "16 numbers of a running sum to a workspace [B,H,D]: at `column`, or of this warp's value rows";
  let arguments = (ins StrAttr:$tensor, Warp_Floats:$from, Optional<Index>:$column);
  let assemblyFormat = "$tensor $from (`[` $column^ `]`)? attr-dict `:` qualified(type($from))";
}

#endif
