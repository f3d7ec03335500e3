// The rec dialect: one token of one head, as the user wrote it.
//
// Values are builtin tensors: vectors over keys (K) or values (V), scalars tensor<1xf32>, and V×K matrices such as the
// state. Every dtype is explicit: elementwise arithmetic takes f32 only, contractions (dot, outer) take any storage
// dtype, round their operands to a compute dtype and give f32. The names of values are the DSL's, so the text reads
// `%log_w = rec.mul ...`; an operation's `name` is not printed, it is the name of its result.
//
//   rec.recurrence @decay attributes {key_dim = 64, value_dim = 64, compute = "f16", sram_budget = 232448} {
//     %k = rec.input "k" dim K : tensor<64xbf16>
//     %v = rec.input "v" dim V : tensor<64xbf16>
//     %log_w = rec.input "log_w" dim K in [-5.0, 0.0] : tensor<64xf32>
//     %S = rec.state "S" : tensor<64x64xf32>
//     %w = rec.exp %log_w : tensor<64xf32>
//     %decayed = rec.diag_mul %S, %w : tensor<64x64xf32>, tensor<64xf32>
//     %vk = rec.outer %v, %k : tensor<64xbf16>, tensor<64xbf16> -> tensor<64x64xf32>
//     %next = rec.add %decayed, %vk : tensor<64x64xf32>
//     %o = rec.dot %next, %k : tensor<64x64xf32>, tensor<64xbf16> -> tensor<64xf32>
//     rec.update %S, %next : tensor<64x64xf32>
//     rec.output "o" %o dim V : tensor<64xf32> as bf16
//   }
#ifndef WKVC_REC_OPS
#define WKVC_REC_OPS

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rec_Dialect : Dialect {
  let name = "rec";
  let cppNamespace = "::wkvc::rec";
  let summary = "One token of one head of a recurrence";
}

// ---- Types ----------------------------------------------------------------------------------------------------------

class Rec_Tensor<string pred, string summary> : Type<CPred<pred>, summary, "::mlir::RankedTensorType">;

defvar f32_only = " of f32 (dtypes are never promoted: write rec.cast)";

def Rec_Any : Rec_Tensor<"::wkvc::rec::is_tensor($_self, {1, 2}, false)", "vector, scalar or matrix of f32, f16 or bf16">;
def Rec_Vector : Rec_Tensor<"::wkvc::rec::is_tensor($_self, {1}, false)", "vector or scalar of f32, f16 or bf16">;
def Rec_F32Any : Rec_Tensor<"::wkvc::rec::is_tensor($_self, {1, 2}, true)", !strconcat("vector, scalar or matrix", f32_only)>;
def Rec_F32Vector : Rec_Tensor<"::wkvc::rec::is_tensor($_self, {1}, true)", !strconcat("vector or scalar", f32_only)>;
def Rec_Matrix : Rec_Tensor<"::wkvc::rec::is_tensor($_self, {2}, true)", "matrix of f32">;
def Rec_Scalar : Rec_Tensor<"::wkvc::rec::is_scalar($_self)", "scalar of f32, tensor<1xf32>">,
    BuildableType<"::wkvc::rec::scalar_type($_builder.getContext())">;

// The axis of a vector: over keys, over values, or one number.
def Rec_Dim : I32EnumAttr<"Dim", "axis of a vector", [
    I32EnumAttrCase<"K", 0>, I32EnumAttrCase<"V", 1>, I32EnumAttrCase<"One", 2, "1">]> {
  let cppNamespace = "::wkvc::rec";
}

// ---- Operations -----------------------------------------------------------------------------------------------------

class Rec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Rec_Dialect, mnemonic, !listconcat(traits, [HasParent<"RecurrenceOp">])>;

// An operation whose result carries a name, declared or given.
class Rec_ValueOp<string mnemonic, list<Trait> traits = []>
    : Rec_Op<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>])> {
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn set_name) {
      if (auto name = getNameAttr()) set_name(getResult(), name.getValue());
    }
  }];
}

def Rec_RecurrenceOp : Op<Rec_Dialect, "recurrence",
    [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "What one token does to one head's state, and what it outputs";
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$key_dim, I64Attr:$value_dim, StrAttr:$compute,
                       I64Attr:$sram_budget);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `attributes` ` ` `{` `key_dim` `=` $key_dim `,` `value_dim` `=` $value_dim `,` `compute` `=` $compute `,`
    `sram_budget` `=` $sram_budget `}` $body attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    // The extent of an axis.
    int64_t extent(Dim dim) { return dim == Dim::K ? getKeyDim() : dim == Dim::V ? getValueDim() : 1; }
    StateOp state();    // its only state
    UpdateOp update();  // its only update
  }];
}

def Rec_InputOp : Rec_ValueOp<"input"> {
  let summary = "A per-token tensor [B,T,H,D], or [B,T,H] for a scalar; `in` declares the range of its elements";
  let arguments = (ins StrAttr:$name, Rec_Dim:$dim, OptionalAttr<DenseF64ArrayAttr>:$range);
  let results = (outs Rec_Vector:$result);
  let assemblyFormat = "$name `dim` custom<Dim>($dim) (`in` custom<Range>($range)^)? `:` type($result) attr-dict";
  let hasVerifier = 1;
}

def Rec_ParameterOp : Rec_ValueOp<"parameter"> {
  let summary = "A per-head tensor [H,D], or [H] for a scalar";
  let arguments = (ins StrAttr:$name, Rec_Dim:$dim, OptionalAttr<DenseF64ArrayAttr>:$range);
  let results = (outs Rec_Vector:$result);
  let assemblyFormat = "$name `dim` custom<Dim>($dim) (`in` custom<Range>($range)^)? `:` type($result) attr-dict";
  let hasVerifier = 1;
}

def Rec_StateOp : Rec_ValueOp<"state"> {
  let summary = "The state before this token, V×K";
  let arguments = (ins StrAttr:$name);
  let results = (outs Rec_Matrix:$result);
  let assemblyFormat = "$name `:` type($result) attr-dict";
}

def Rec_ConstantOp : Rec_ValueOp<"constant", [Pure]> {
  let summary = "One number in every element of a vector";
  let arguments = (ins F32Attr:$value, Rec_Dim:$dim, OptionalAttr<StrAttr>:$name);
  let results = (outs Rec_F32Vector:$result);
  let assemblyFormat = "custom<ResultName>($name) `` $value `dim` custom<Dim>($dim) `:` type($result) attr-dict";
  let hasVerifier = 1;
}

def Rec_CastOp : Rec_ValueOp<"cast", [Pure]> {
  let summary = "The only way from one dtype to another";
  let arguments = (ins Rec_Vector:$operand, OptionalAttr<StrAttr>:$name);
  let results = (outs Rec_Vector:$result);
  let assemblyFormat = "custom<ResultName>($name) `` $operand `:` type($operand) `to` type($result) attr-dict";
  let hasVerifier = 1;
}

class Rec_UnaryOp<string mnemonic, string summary_> : Rec_ValueOp<mnemonic, [Pure, SameOperandsAndResultType]> {
  let summary = summary_;
  let arguments = (ins Rec_F32Vector:$operand, OptionalAttr<StrAttr>:$name);
  let results = (outs Rec_F32Vector:$result);
  let assemblyFormat = "custom<ResultName>($name) `` $operand `:` type($operand) attr-dict";
}
def Rec_NegOp : Rec_UnaryOp<"neg", "-x">;
def Rec_ExpOp : Rec_UnaryOp<"exp", "e^x">;
def Rec_LogOp : Rec_UnaryOp<"log", "natural logarithm">;
def Rec_SigmoidOp : Rec_UnaryOp<"sigmoid", "1 / (1 + e^-x)">;
def Rec_TanhOp : Rec_UnaryOp<"tanh", "hyperbolic tangent">;
def Rec_SoftplusOp : Rec_UnaryOp<"softplus", "log(1 + e^x)">;
def Rec_ReluOp : Rec_UnaryOp<"relu", "max(x, 0)">;
def Rec_SqrtOp : Rec_UnaryOp<"sqrt", "square root">;
def Rec_ReciprocalOp : Rec_UnaryOp<"reciprocal", "1 / x">;

class Rec_BinaryOp<string mnemonic, string summary_, Type type>
    : Rec_ValueOp<mnemonic, [Pure, SameOperandsAndResultType]> {
  let summary = summary_;
  let arguments = (ins type:$lhs, type:$rhs, OptionalAttr<StrAttr>:$name);
  let results = (outs type:$result);
  let assemblyFormat = "custom<ResultName>($name) `` $lhs `,` $rhs `:` type($result) attr-dict";
}
def Rec_AddOp : Rec_BinaryOp<"add", "lhs + rhs", Rec_F32Any>;
def Rec_SubOp : Rec_BinaryOp<"sub", "lhs - rhs", Rec_F32Any>;
def Rec_MulOp : Rec_BinaryOp<"mul", "lhs * rhs, element by element; a matrix takes rec.diag_mul or rec.scale",
                             Rec_F32Vector>;

def Rec_ScaleOp : Rec_ValueOp<"scale", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "A scalar times a vector or a matrix";
  let arguments = (ins Rec_Scalar:$scalar, Rec_F32Any:$value, OptionalAttr<StrAttr>:$name);
  let results = (outs Rec_F32Any:$result);
  let assemblyFormat = "custom<ResultName>($name) `` $scalar `,` $value `:` type($result) attr-dict";
}

def Rec_BroadcastOp : Rec_ValueOp<"broadcast", [Pure]> {
  let summary = "A scalar in every element of a vector";
  let arguments = (ins Rec_Scalar:$scalar, Rec_Dim:$dim, OptionalAttr<StrAttr>:$name);
  let results = (outs Rec_F32Vector:$result);
  let assemblyFormat = "custom<ResultName>($name) `` $scalar `dim` custom<Dim>($dim) `:` type($result) attr-dict";
}

def Rec_DiagMulOp : Rec_ValueOp<"diag_mul", [Pure, AllTypesMatch<["matrix", "result"]>]> {
  let summary = "matrix · diag(d): column k of the matrix times d[k]";
  let arguments = (ins Rec_Matrix:$matrix, Rec_F32Vector:$diagonal, OptionalAttr<StrAttr>:$name);
  let results = (outs Rec_Matrix:$result);
  let assemblyFormat = [{
    custom<ResultName>($name) `` $matrix `,` $diagonal `:` type($matrix) `,` type($diagonal) attr-dict
  }];
}

// `compute` pins the dtype the operands are rounded to; without it the recurrence's default holds.
def Rec_DotOp : Rec_ValueOp<"dot", [Pure]> {
  let summary = "matrix · K vector, a V vector; or vector · vector, a scalar";
  let arguments = (ins Rec_Any:$lhs, Rec_Vector:$rhs, OptionalAttr<StrAttr>:$compute, OptionalAttr<StrAttr>:$name);
  let results = (outs Rec_F32Vector:$result);
  let assemblyFormat = [{
    custom<ResultName>($name) `` $lhs `,` $rhs (`compute` $compute^)? `:` type($lhs) `,` type($rhs) `->` type($result)
    attr-dict
  }];
  let hasVerifier = 1;
}

def Rec_OuterOp : Rec_ValueOp<"outer", [Pure]> {
  let summary = "V vector · (K vector)ᵀ";
  let arguments = (ins Rec_Vector:$column, Rec_Vector:$row, OptionalAttr<StrAttr>:$compute,
                       OptionalAttr<StrAttr>:$name);
  let results = (outs Rec_Matrix:$result);
  let assemblyFormat = [{
    custom<ResultName>($name) `` $column `,` $row (`compute` $compute^)? `:` type($column) `,` type($row) `->` type($result)
    attr-dict
  }];
  let hasVerifier = 1;
}

def Rec_AssumeOp : Rec_ValueOp<"assume", [Pure, SameOperandsAndResultType]> {
  let summary = "The operand, whose elements the user declares to lie in the range";
  let arguments = (ins Rec_F32Vector:$operand, DenseF64ArrayAttr:$range, OptionalAttr<StrAttr>:$name);
  let results = (outs Rec_F32Vector:$result);
  let assemblyFormat = "custom<ResultName>($name) `` $operand `in` custom<Range>($range) `:` type($operand) attr-dict";
  let hasVerifier = 1;
}

def Rec_UpdateOp : Rec_Op<"update", [AllTypesMatch<["state", "next"]>]> {
  let summary = "The state after this token";
  let arguments = (ins Rec_Matrix:$state, Rec_Matrix:$next);
  let assemblyFormat = "$state `,` $next `:` type($state) attr-dict";
  let hasVerifier = 1;
}

def Rec_OutputOp : Rec_Op<"output"> {
  let summary = "A per-token result [B,T,H,D], or [B,T,H] for a scalar, stored as `dtype`";
  let arguments = (ins StrAttr:$name, Rec_Vector:$value, Rec_Dim:$dim, TypeAttr:$dtype);
  let assemblyFormat = "$name $value `dim` custom<Dim>($dim) `:` type($value) `as` $dtype attr-dict";
  let hasVerifier = 1;
}

#endif  // WKVC_REC_OPS
