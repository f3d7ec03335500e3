// What is computed with tiles in registers.
#ifndef WKVC_WARP_TILE_OPS
#define WKVC_WARP_TILE_OPS

include "codegen/warp/ops/WarpBase.td"

def Warp_CallOp : Warp_Op<"call", [Pure]> {
  let summary = "A function of templates/ on f32 tiles; `constant` is a number it takes beside them";
  let arguments = (ins StrAttr:$function, Variadic<Warp_Operand>:$x,
                       OptionalAttr<F32Attr>:$constant);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = [{
    $function `(` $x `)` (`with` $constant^)? attr-dict `:` functional-type($x, $result)
  }];
  let hasVerifier = 1;
}

def Warp_TransposeOp : Warp_Op<"transpose", [Pure]> {
  let summary = "A tile that this warp has made, transposed: an operand of a contraction over its rows";
  let arguments = (ins Warp_Tile:$x);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = "$x attr-dict `:` qualified(type($x)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Warp_ZerosOp : Warp_Op<"zeros", [Pure]> {
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
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
    (`as_is` $as_is^)? attr-dict `:` qualified(type($x)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Warp_WidenOp : Warp_Op<"widen", [Pure]> {
  let summary = "An operand as f32, times the scale given or the one that a register tile carries";
  let arguments = (ins Warp_Tile:$x, Optional<F32>:$scale);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x (`scale` $scale^)? attr-dict `:` qualified(type($x)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Warp_MmaOp : Warp_Op<"mma", [Pure, AttrSizedOperandSegments, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc[m,n] + Σ_k x[m,k]·y[n,k], either operand read transposed if it says so, shared ones with a scale";
  let description = [{
    `in_scale`: x, a register tile with a scale, is brought to the scale that acc carries. What that loses does not count
    beside a sum that was rounded in its scale. `same_scale`: acc carries the product of the operands' scales. `new_scale`:
    the result does, acc carries none. `family`: the instructions that make it. By wgmma four warps with rows of their own
    read y together, which no scale goes with and which teams have made. `x_triangle`, `y_triangle`: as it is contracted, that operand is zero above its
    diagonal (`lower`) or below it (`upper`), and nothing of the other operand that only meets those zeros reaches the
    result, be it NaN.

    `factors` says in names what product is added, for a comment of the text: ["M", "U0"], ["S", "k^T"]. Tiles of value
    rows by tokens are the transpose of what their names say.
  }];
  let arguments = (ins Warp_Tile32:$acc, Warp_Operand:$x, Warp_Operand:$y, Optional<F32>:$x_scale,
                       Optional<F32>:$y_scale, Optional<Index>:$y_column, UnitAttr:$x_transposed,
                       UnitAttr:$y_transposed, UnitAttr:$in_scale, UnitAttr:$same_scale,
                       UnitAttr:$new_scale,
                       DefaultValuedAttr<Warp_Family, "::wkvc::warp::Family::mma_sync">:$family, OptionalAttr<Warp_Triangle>:$x_triangle,
                       OptionalAttr<Warp_Triangle>:$y_triangle, OptionalAttr<StrArrayAttr>:$factors);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = [{
    $acc `,` $x (`x_transposed` $x_transposed^)? (`x_triangle` $x_triangle^)? (`x_scale` $x_scale^)? `,` $y
    (`[` $y_column^ `]`)? (`y_transposed` $y_transposed^)? (`y_triangle` $y_triangle^)? (`y_scale` $y_scale^)?
    (`in_scale` $in_scale^)?
    (`same_scale` $same_scale^)? (`new_scale` $new_scale^)? (`family` $family^)?
    (`factors` $factors^)? attr-dict `:` qualified(type($acc)) `,` qualified(type($x)) `,` qualified(type($y))
  }];
  let extraClassDeclaration = [{
    // Whether several warps make it together.
    bool isByGroups() { return ::wkvc::warp::instructions_of(getFamily()).is_of_groups(); }
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
    `:` qualified(type($x)) `,` qualified(type($y)) (`,` qualified(type($rows))^)? `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Warp_UnitLowerInverseOp : Warp_Op<"unit_lower_inverse", [AllTypesMatch<["x", "result"]>]> {
  let summary = "(I − x)⁻¹ of a strictly lower triangular x, on one warp; `scratch` is its own";
  let arguments = (ins Warp_Tile32:$x, Warp_Floats:$scratch, StrAttr:$dtype);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x `,` $scratch `in` $dtype attr-dict `:` qualified(type($x)) `,` qualified(type($scratch))";
  let hasVerifier = 1;
}

def Warp_DecayingOp : Warp_Op<"decaying", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "A state that is still to be multiplied by a row, or by nothing: what it is multiplied by next comes to it";
  let arguments = (ins Warp_Tile32:$x, Optional<Warp_Tile32>:$row);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x (`,` $row^)? attr-dict `:` qualified(type($x)) (`,` qualified(type($row))^)?";
  let hasVerifier = 1;
}

def Warp_SettledOp : Warp_Op<"settled", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "The state, multiplied";
  let arguments = (ins Warp_Tile32:$x);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x attr-dict `:` qualified(type($x))";
}

#endif
