// Scales of operands and sums, and the unit of gradients.
#ifndef WKVC_WARP_SCALE_OPS
#define WKVC_WARP_SCALE_OPS

include "codegen/warp/ops/WarpBase.td"

def Warp_PublishMaxOp : Warp_Op<"publish_max"> {
  let summary = "The largest |x| of a register tile to this warp's slot, or of a ring's current tile to the only one";
  let arguments = (ins AnyTypeOf<[Warp_Tile32, Warp_Shared]>:$x, Warp_Floats:$slots);
  let assemblyFormat = "$x `,` $slots attr-dict `:` qualified(type($x)) `,` qualified(type($slots))";
}

def Warp_ScaleForOp : Warp_Op<"scale_for"> {
  let summary = "The power of two for a magnitude of `factor` times the product of the slots' maxima";
  let description = "Or the sum of several products, of as many slots each as `counts` says.";
  let arguments = (ins Variadic<Warp_Floats>:$slots, OptionalAttr<DenseI64ArrayAttr>:$counts, F32Attr:$factor);
  let results = (outs F32:$result);
  let assemblyFormat = "$slots (`counts` $counts^)? `times` $factor attr-dict `:` qualified(type($slots))";
  let hasVerifier = 1;
}

def Warp_OwnScaleOp : Warp_Op<"own_scale", [Pure]> {
  let summary = "The power of two for a magnitude of `factor` times the largest |x| of this warp's tile";
  let arguments = (ins Warp_Tile32:$x, F32Attr:$factor);
  let results = (outs F32:$result);
  let assemblyFormat = "$x `times` $factor attr-dict `:` qualified(type($x))";
  let hasVerifier = 1;
}

def Warp_ScaleOfOp : Warp_Op<"scale_of"> {
  let summary = "The scale that lies beside a shared tile";
  let arguments = (ins Warp_Shared:$x);
  let results = (outs F32:$result);
  let assemblyFormat = "$x attr-dict `:` qualified(type($x))";
  let hasVerifier = 1;
}

def Warp_BoundOp : Warp_Op<"bound", [AttrSizedOperandSegments]> {
  let summary = "`factor` times the product of the slots' maxima and of scales, over the product of others";
  let arguments = (ins Variadic<Warp_Floats>:$slots, Variadic<F32>:$scales, Variadic<F32>:$under, F32Attr:$factor);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $factor (`slots` `(` $slots^ `:` qualified(type($slots)) `)`)? (`scales` `(` $scales^ `)`)? (`under` `(` $under^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Warp_FitScaleOp : Warp_Op<"fit_scale", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "A sum whose scale all warps share, in one in which operands made with it fit f16, of at most `slope` times it, and `offset`";
  let description = "`slots`: of the largest |x| of each warp. The scale changes for all of them or for none.";
  let arguments = (ins Warp_Tile32:$x, Warp_Floats:$slots, F32:$slope, F32:$offset);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x `,` $slots `slope` $slope `offset` $offset attr-dict `:` qualified(type($x)) `,` qualified(type($slots))";
}

def Warp_LeaveScaleOp : Warp_Op<"leave_scale"> {
  let summary = "The scale that an operand carries, the same for all warps of the block: by its first, for others";
  let arguments = (ins Warp_Tile:$x, Warp_Floats:$to);
  let assemblyFormat = "$x `to` $to attr-dict `:` qualified(type($x)) `,` qualified(type($to))";
  let hasVerifier = 1;
}

def Warp_RoundBesideOp : Warp_Op<"round_beside", [Pure]> {
  let summary = "An operand with which operands of scale `other` make products in the scale of `state`, an operand, too";
  let description = "x is a value, or an operand in another scale: the one that it carries, or of a loaded one that given.";
  let arguments = (ins Warp_Tile:$x, Optional<F32>:$scale, Warp_Tile:$state, F32:$other);
  let results = (outs Warp_Tile:$result);
  let assemblyFormat = [{
    $x (`scale` $scale^)? `,` $state `over` $other attr-dict `:` qualified(type($x)) `,` qualified(type($state)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Warp_WithScaleOp : Warp_Op<"with_scale", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "A sum that carries a scale: it may be multiplied by rows, accumulated on and rounded in its scale";
  let description = "`unit`: a scale of 1, for all warps the same, instead of one for this warp's rows.";
  let arguments = (ins Warp_Tile32:$x, UnitAttr:$unit);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x (`unit` $unit^)? attr-dict `:` qualified(type($x))";
  let hasVerifier = 1;
}

def Warp_WithoutScaleOp : Warp_Op<"without_scale", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "What a sum that carries a scale means";
  let arguments = (ins Warp_Tile32:$x);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x attr-dict `:` qualified(type($x))";
}

def Warp_WidenOverOp : Warp_Op<"widen_over", [Pure]> {
  let summary = "A tile of an input as f32, over a scale: what is rounded with that scale needs no multiplication then";
  let arguments = (ins Warp_Tile:$x, F32:$scale);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x `scale` $scale attr-dict `:` qualified(type($x)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Warp_TimesUnitOp : Warp_Op<"times_unit", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "Times a unit of gradients, or `over` it; rows of a summary's map have none";
  let description = "Also times a number, `factor`.";
  let arguments = (ins Warp_Tile32:$x, F32:$unit, UnitAttr:$over, UnitAttr:$of_state, OptionalAttr<F32Attr>:$factor);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = [{
    $x `,` $unit (`over` $over^)? (`of_state` $of_state^)? (`factor` $factor^)? attr-dict `:` qualified(type($x))
  }];
  let hasVerifier = 1;
}

def Warp_TimesPowerOp : Warp_Op<"times_power", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "A state times 2^exponent; `of_state`: but for rows of a summary's map";
  let arguments = (ins Warp_Tile32:$x, I64Attr:$exponent, UnitAttr:$of_state);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x `exponent` $exponent (`of_state` $of_state^)? attr-dict `:` qualified(type($x))";
  let hasVerifier = 1;
}

def Warp_PlusExponentOp : Warp_Op<"plus_exponent", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "Exponents of two, plus that of a unit of gradients, or `less` it: what is multiplied by them needs no times_unit";
  let description = "Also plus a `number`.";
  let arguments = (ins Warp_Tile32:$x, F32:$unit, UnitAttr:$less, OptionalAttr<F32Attr>:$number);
  let results = (outs Warp_Tile32:$result);
  let assemblyFormat = "$x (`less` $less^)? `,` $unit (`number` $number^)? attr-dict `:` qualified(type($x))";
  let hasVerifier = 1;
}

#endif
