// The chunk dialect: one chunk of C tokens of one head, as matrices. No threads, no memory.
//
// Every value is a rank-2 tensor. Index spaces by size: C tokens, K keys, V values; 1 broadcasts.
//
//   chunk.program @example attributes {chunk = 16, compute = "f16", ...} {
//     %w = chunk.input "w" dim "K" : tensor<16x64xbf16>
//     %S0 = chunk.state "S" : tensor<64x64xf32>
//     %L = chunk.cumsum %log_w : tensor<16x64xf32>
//     %AB = chunk.tril %p strict : tensor<16x16xf32>
//     chunk.update %S : tensor<64x64xf32>
//     chunk.output "o" %O as "bf16" : tensor<16x64xf32>
//   }
//
// A backward program goes through the chunks from the last to the first. Its state is the gradient of the state, before
// an iteration that of the state after the chunk; what the forward pass saved is chunk.saved_state.
//
// Any operation may say `at_most = x : f32`: no element of its result, past the sequence's end aside, is larger in
// magnitude; beside `of = ["x", …]`, larger than that times the largest |element| of each of these inputs.
//
// In a placed program every operation says `at = #wkvc.place<…>`, and the program `phases = #wkvc.phases<…>`
// (codegen/schedule/Place.h).
#ifndef WKVC_CHUNK_OPS
#define WKVC_CHUNK_OPS

include "codegen/ir/TermTypes.td"
include "codegen/schedule/ScheduleAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Chunk_Dialect : Dialect {
  let name = "chunk";
  let cppNamespace = "::wkvc::chunk";
  let summary = "One chunk of tokens as matrices";
  let dependentDialects = ["::wkvc::WkvcDialect"];
}

// A matrix in f32, the only dtype arithmetic happens in.
def Chunk_F32 : 2DTensorOf<[F32]>;
// A matrix as stored or as rounded for a contraction.
def Chunk_Any : 2DTensorOf<[F32, TF32, F16, BF16, Wkvc_Bf16x3, Wkvc_F16x2, Wkvc_LowerF16x2]>;

class Chunk_Op<string name, list<Trait> traits = []> : Op<Chunk_Dialect, name, traits>;
class Chunk_Pure<string name, list<Trait> traits = []> : Chunk_Op<name, !listconcat([Pure], traits)>;

def Chunk_ProgramOp : Chunk_Op<"program", [IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "The chunk program of one recurrence";
  let description = [{
    `schedule` says how the program becomes a kernel (codegen/schedule/Schedule.h), `arch` for which GPUs. Initial and
    final states are stored as `state_dtype`, in the order `state_layout`: values and keys ("vk"), or "kv". A forward
    program saves states at the checkpoints of its schedule; its backward program has the same checkpoints. The state
    behind every `states_every` tokens is a result of a forward program, unless that is 0.

    The value rows of a head may be dealt to `parts`. The program is then that of one part, with `value_dim` rows.

    A forward program that is still to be differentiated names what by: `gradients`, all inputs if it names none. The
    backward program then has the schedule `of_gradients`. With `gradients_only` the forward program goes.

    Where a sequence is cut into segments, each has a `summary` program first, which brings the state of a segment on from
    zero and finds the map by which the state before the segment counts: a "full" matrix of keys by keys, or a "diagonal"
    one.

    A forward program of `warpgroups` becomes a nest of roles (codegen/nest), and has no places.

    A `plain` program has no scales, and runs where all of the inputs that it names are of ordinary size; a `refused` one
    behind it is the same with scales, for the sequences, or segments of them, where numbers turn out not to fit.
  }];
  let arguments = (ins StrAttr:$recurrence, I64Attr:$chunk, I64Attr:$key_dim, I64Attr:$value_dim, StrAttr:$compute,
                       I64Attr:$sram_budget, OptionalAttr<StrAttr>:$summary, OptionalAttr<StrArrayAttr>:$plain,
                       OptionalAttr<StrArrayAttr>:$gradients, DefaultValuedAttr<StrAttr, "\"sm_90a\"">:$arch,
                       DefaultValuedAttr<StrAttr, "\"f32\"">:$state_dtype,
                       DefaultValuedAttr<StrAttr, "\"vk\"">:$state_layout,
                       UnitAttr:$backward, UnitAttr:$recompute, UnitAttr:$refused, UnitAttr:$gradients_only,
                       UnitAttr:$warpgroups,
                       DefaultValuedAttr<Wkvc_Schedule, "::wkvc::Schedule()">:$schedule,
                       DefaultValuedAttr<Wkvc_Schedule, "::wkvc::Schedule()">:$of_gradients,
                       DefaultValuedAttr<I64Attr, "0">:$states_every, Wkvc_Parts:$parts);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$recurrence attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getSegments() { return getSchedule().grid.segments; }
    int64_t getSavedEvery() { return getSchedule().checkpoint.every; }
    ::llvm::StringRef getSaved() { return ::wkvc::name_of(getSchedule().checkpoint.dtype); }
    // Takes over what a forward program and its backward program have alike.
    void inherit(ProgramOp program);
    // Returns whether several blocks of a head each have a term of the gradient of what has this dim.
    bool isSummedOverBlocks(::llvm::StringRef dim) { return getParts() > 1 && dim != "V"; }
    ::std::string headText();                          // "64x128", or "64x128 in 2 parts"
    ::llvm::SmallVector<const char*> optionsOfHead();  // that leave a block less of a head
    // Changes the schedule by f(schedule).
    template <class F>
    void reschedule(F f) {
      ::wkvc::Schedule schedule = getSchedule();
      f(schedule);
      setSchedule(schedule);
    }
  }];
}

//===- What comes in -------------------------------------------------------------------------------------------===//

def Chunk_InputOp : Chunk_Op<"input"> {
  let summary = "C tokens of an input; rows past the tail are zero";
  let description = [{
    With `gradient_of`, the incoming gradient of that output of the forward program. `kept`: what the forward program gave
    for its backward program alone, a C×C matrix of the dim "T". `shared`: several heads may share one of the tensor.
    `of_head`: a parameter of one number a head, which all tokens have.
  }];
  let arguments = (ins StrAttr:$sym, StrAttr:$dim, OptionalAttr<StrAttr>:$gradient_of, UnitAttr:$kept,
                       UnitAttr:$shared, UnitAttr:$of_head);
  let results = (outs Chunk_Any:$result);
  let assemblyFormat = [{
    $sym (`gradient_of` $gradient_of^)? (`kept` $kept^)? (`shared` $shared^)? (`of_head` $of_head^)? `dim` $dim attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

def Chunk_ParameterOp : Chunk_Op<"parameter"> {
  let summary = "A per-head vector, one row";
  let arguments = (ins StrAttr:$sym, StrAttr:$dim);
  let results = (outs Chunk_Any:$result);
  let assemblyFormat = "$sym `dim` $dim attr-dict `:` type($result)";
}

class Chunk_State<string name> : Chunk_Op<name> {
  let description = "With an `exponent` the value is 2^exponent times the state.";
  let arguments = (ins StrAttr:$sym, OptionalAttr<I64Attr>:$exponent);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$sym (`exponent` $exponent^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Chunk_StateOp : Chunk_State<"state"> {
  let summary = "What the loop over chunks carries: the state before the chunk (V rows, K columns)";
}
def Chunk_SavedStateOp : Chunk_State<"saved_state"> {
  let summary = "In a backward program: the state before the chunk, as the forward pass saved it";
}

def Chunk_ConstantOp : Chunk_Pure<"constant"> {
  let summary = "One number; 1x1, which broadcasts, or in every element of a matrix";
  let description = "A matrix says what its rows and columns are: T tokens, K, V or 1. In f64, so that what is computed of constants at compile time is exact; kernels round it to f32.";
  let arguments = (ins F64Attr:$value, OptionalAttr<StrAttr>:$dims);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$value (`dims` $dims^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===- Elementwise, in f32 -------------------------------------------------------------------------------------===//

class Chunk_Unary<string name> : Chunk_Pure<name, [SameOperandsAndResultType]> {
  let arguments = (ins Chunk_F32:$x);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}
def Chunk_NegOp : Chunk_Unary<"neg">;
def Chunk_ExpOp : Chunk_Unary<"exp">;
def Chunk_Exp2Op : Chunk_Unary<"exp2">;  // 2^x: what the hardware has
def Chunk_LogOp : Chunk_Unary<"log">;
def Chunk_SigmoidOp : Chunk_Unary<"sigmoid">;
def Chunk_TanhOp : Chunk_Unary<"tanh">;
def Chunk_SoftplusOp : Chunk_Unary<"softplus">;
def Chunk_ReluOp : Chunk_Unary<"relu">;
def Chunk_SqrtOp : Chunk_Unary<"sqrt">;
def Chunk_ReciprocalOp : Chunk_Unary<"reciprocal">;

// Shapes broadcast from 1; the result has the larger of both sizes.
class Chunk_Binary<string name> : Chunk_Pure<name> {
  let arguments = (ins Chunk_F32:$x, Chunk_F32:$y);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)";
  let hasVerifier = 1;
}
def Chunk_AddOp : Chunk_Binary<"add">;
def Chunk_SubOp : Chunk_Binary<"sub">;
def Chunk_MulOp : Chunk_Binary<"mul">;

def Chunk_AtLeastOp : Chunk_Pure<"at_least", [SameOperandsAndResultType]> {
  let summary = "max(x, bound)";
  let arguments = (ins Chunk_F32:$x, F32Attr:$bound);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x `,` $bound attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Chunk_ExceedsOp : Chunk_Pure<"exceeds", [SameOperandsAndResultType]> {
  let summary = "1 where x > bound, else 0: the derivative of max(x, bound)";
  let arguments = (ins Chunk_F32:$x, F32Attr:$bound);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x `,` $bound attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Chunk_NotBelowOp : Chunk_Pure<"not_below", [SameOperandsAndResultType]> {
  let summary = "x where x >= bound, else NaN: what a plain program refuses";
  let arguments = (ins Chunk_F32:$x, F32Attr:$bound);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x `,` $bound attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Chunk_WidenOp : Chunk_Pure<"widen"> {
  let summary = "A stored value as f32, exactly";
  let arguments = (ins Chunk_Any:$x);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Chunk_RoundOp : Chunk_Pure<"round"> {
  let summary = "An operand of contractions, rounded to their dtype";
  let description = [{
    Where an f16 operand's magnitude is not proven it carries a power-of-two scale: that of a magnitude of `factor` times
    the product over `bound` of the largest |element| of that input in the chunk, or of that state, or of several such
    products with "+" between them; elements 2^7 times as large still fit. With no `bound` and a factor of 0 the scale
    comes from the value's own maximum. No scale at all: the range is proven. The two terms of an f16x2 share a scale.
  }];
  let arguments = (ins Chunk_F32:$x, OptionalAttr<StrArrayAttr>:$bound, OptionalAttr<F32Attr>:$factor);
  let results = (outs Chunk_Any:$result);
  let assemblyFormat = "$x (`scale` $bound^ `times` $factor)? attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Chunk_OffsetOp : Chunk_Pure<"offset", [SameOperandsAndResultType]> {
  let summary = "In a summary: x for the state, and zero for the map, on which it has no influence";
  let arguments = (ins Chunk_F32:$x);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

//===- Along the tokens ----------------------------------------------------------------------------------------===//

class Chunk_SameShape<string name> : Chunk_Pure<name, [SameOperandsAndResultType]> {
  let arguments = (ins Chunk_F32:$x);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}
def Chunk_KeepValidOp : Chunk_SameShape<"keep_valid"> {
  let summary = "Rows past the sequence's end become 0, whatever they held";
}
def Chunk_CumsumOp : Chunk_Pure<"cumsum", [SameOperandsAndResultType]> {
  let summary = "Sum down the rows, or up from the last, with the row itself or without it";
  let description = "Of tokens by keys or by tokens, or of one number a token.";
  let arguments = (ins Chunk_F32:$x, UnitAttr:$reverse, UnitAttr:$exclusive);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x (`reverse` $reverse^)? (`exclusive` $exclusive^)? attr-dict `:` type($result)";
}

def Chunk_RowOp : Chunk_Pure<"row"> {
  let summary = "One row";
  let description = "An `anchor` is a row that what the program gives does not depend on: it has no gradient.";
  let arguments = (ins Chunk_F32:$x, I64Attr:$index, UnitAttr:$anchor);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x `[` $index `]` (`anchor` $anchor^)? attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Chunk_AtRowOp : Chunk_Pure<"at_row"> {
  let summary = "A matrix of zeros with x as one of its rows";
  let arguments = (ins Chunk_F32:$x, I64Attr:$index);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x `[` $index `]` attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Chunk_SumRowsOp : Chunk_Pure<"sum_rows"> {
  let summary = "The sum of all rows, one row";
  let arguments = (ins Chunk_F32:$x);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Chunk_SumColumnsOp : Chunk_Pure<"sum_columns"> {
  let summary = "The sum of all columns, one column";
  let arguments = (ins Chunk_F32:$x);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

//===- Contractions --------------------------------------------------------------------------------------------===//

def Chunk_DotOp : Chunk_Pure<"dot"> {
  let summary = "Contraction of dimension `x_dim` of x with `y_dim` of y, f32 accumulator";
  let description = [{
    Operands have one dtype, which is the contraction's, or one is f16 and the other f16x2: `result[m,n] = Σ_c
    x[m,c]·y[n,c]` for dims 1, 1. `wide`: the operands have f32's range, in tf32 or bf16, and so have those of the
    operands' gradients.
  }];
  let arguments = (ins Chunk_Any:$x, I64Attr:$x_dim, Chunk_Any:$y, I64Attr:$y_dim, UnitAttr:$wide);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x `over` $x_dim `,` $y `over` $y_dim attr-dict `:` type($x) `,` type($y) `->` type($result)";
  let hasVerifier = 1;
}

def Chunk_ColumnDotsOp : Chunk_Pure<"column_dots"> {
  let summary = "A row of the contractions of each column of x with the same one of y: Σ_v x[v,k]·y[v,k]";
  let arguments = (ins Chunk_Any:$x, Chunk_Any:$y);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)";
  let hasVerifier = 1;
}

def Chunk_DiagonalDotOp : Chunk_Pure<"diagonal_dot"> {
  let summary = "Diagonal matrix of x_t·y_t, token by token";
  let arguments = (ins Chunk_Any:$x, Chunk_Any:$y);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)";
  let hasVerifier = 1;
}

def Chunk_DiagonalOp : Chunk_Pure<"diagonal"> {
  let summary = "The diagonal of a C×C matrix, a column";
  let arguments = (ins Chunk_F32:$x);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

//===- Pairs of tokens by level --------------------------------------------------------------------------------===//
//
// Each pair of tokens j < i belongs to one level: that of the blocks of 2·half tokens, half = 1, 2, 4, …, in which i lies
// in the upper and j in the lower half. Decays between them go through the middle of that block, m being the last token
// of its lower half: exp(Σ w over j < t ≤ i) = exp(Σ w over m < t ≤ i)·exp(Σ w over j < t ≤ m). Such sums inside a half
// grow from level to level by what `last_of_other_half` adds, so that each is a sum of the log decays it crosses alone.

class Chunk_Level<string name, dag tiles> : Chunk_Pure<name, [SameOperandsAndResultType]> {
  let arguments = !con(tiles, (ins I64Attr:$half));
  let results = (outs Chunk_F32:$result);
  let hasVerifier = 1;
}
def Chunk_LastOfOtherHalfOp : Chunk_Level<"last_of_other_half", (ins Chunk_F32:$x)> {
  let summary = "In every row the last row of the other half of its block; zero where the chunk ends before that half";
  let assemblyFormat = "$x `half` $half attr-dict `:` type($result)";
}
def Chunk_SumOfOtherHalfOp : Chunk_Level<"sum_of_other_half", (ins Chunk_F32:$x)> {
  let summary = "In the last row of each half the sum of the other half's rows, zero in other rows: the transpose of last_of_other_half";
  let assemblyFormat = "$x `half` $half attr-dict `:` type($result)";
}
def Chunk_SelectHalvesOp : Chunk_Level<"select_halves", (ins Chunk_F32:$x, Chunk_F32:$y)> {
  let summary = "Rows of upper halves are those of x, rows of lower halves those of y";
  let assemblyFormat = "$x `,` $y `half` $half attr-dict `:` type($result)";
}
def Chunk_LevelPairsOp : Chunk_Level<"level_pairs", (ins Chunk_F32:$x)> {
  let summary = "The pairs of one level, elements of a C×C matrix, by selection";
  let assemblyFormat = "$x `half` $half attr-dict `:` type($result)";
}
def Chunk_UpperRowsOp : Chunk_Level<"upper_rows", (ins Chunk_F32:$x)> {
  let summary = "The rows of upper halves, by selection";
  let assemblyFormat = "$x `half` $half attr-dict `:` type($result)";
}
def Chunk_LowerRowsOp : Chunk_Level<"lower_rows", (ins Chunk_F32:$x)> {
  let summary = "The rows of lower halves, by selection";
  let assemblyFormat = "$x `half` $half attr-dict `:` type($result)";
}

//===- Triangular matrices -------------------------------------------------------------------------------------===//

def Chunk_TrilOp : Chunk_Pure<"tril", [SameOperandsAndResultType]> {
  let summary = "Lower triangle by selection, without the diagonal if strict";
  let arguments = (ins Chunk_F32:$x, UnitAttr:$strict);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x (`strict` $strict^)? attr-dict `:` type($result)";
}

def Chunk_UnitLowerInverseOp : Chunk_Pure<"unit_lower_inverse", [SameOperandsAndResultType]> {
  let summary = "(I − x)⁻¹ of a strictly lower triangular x, in the precision of `dtype`";
  let arguments = (ins Chunk_F32:$x, StrAttr:$dtype);
  let results = (outs Chunk_F32:$result);
  let assemblyFormat = "$x `in` $dtype attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===- What goes out -------------------------------------------------------------------------------------------===//

def Chunk_UpdateOp : Chunk_Op<"update"> {
  let summary = "The state after the chunk";
  let arguments = (ins Chunk_F32:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Chunk_UpdateSavedOp : Chunk_Op<"update_saved"> {
  let summary = "In a backward program: what the saved state was after the chunk";
  let description = "Where not every state was saved, a kernel takes those in between from it.";
  let arguments = (ins Chunk_F32:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Chunk_OutputOp : Chunk_Op<"output"> {
  let summary = "C tokens of an output, rounded to its storage dtype";
  let description = [{
    With `gradient_of`, the gradient of that input of the forward program. `kept`: for the backward program. `shared`: each
    head has a part of the gradient, of f32, and the sum of those that share the input's head is stored. `of_head`: each
    token has a part of it, and their sum is stored, a number for each head. `whole`: so has each part of a head.
  }];
  let arguments = (ins StrAttr:$sym, Chunk_F32:$x, StrAttr:$dtype, OptionalAttr<StrAttr>:$gradient_of, UnitAttr:$kept,
                       UnitAttr:$shared, UnitAttr:$of_head, UnitAttr:$whole);
  let assemblyFormat = [{
    $sym $x (`gradient_of` $gradient_of^)? (`kept` $kept^)? (`shared` $shared^)? (`of_head` $of_head^)? (`whole` $whole^)?
    `as` $dtype attr-dict `:` type($x)
  }];
  let extraClassDeclaration = [{
    // Whether what is stored is a sum of parts, which a kernel of its own makes.
    bool isSummed() { return getShared() || getOfHead() || getWhole(); }
  }];
  let hasVerifier = 1;
}

def Chunk_AccumulateOp : Chunk_Op<"accumulate"> {
  let summary = "One row, summed over chunks and batches: the gradient of a parameter, in its storage dtype";
  let arguments = (ins StrAttr:$sym, Chunk_F32:$x, StrAttr:$gradient_of, StrAttr:$dtype);
  let assemblyFormat = "$sym $x `gradient_of` $gradient_of `as` $dtype attr-dict `:` type($x)";
  let hasVerifier = 1;
}

#endif
