// The nest dialect: which warps of a block do what, over which chunks, and what they hand to each other.
//
//   nest.kernel "example_forward" shared 232448 {
//     %k = nest.channel depth 3 : !nest.tile<64x128xbf16, swizzled>
//     nest.role "loads" warps 4 registers 64 {
//       nest.sweep "chunks" {
//         nest.load "k" ahead 2 into %k : !nest.tile<64x128xbf16, swizzled>
//       }
//     }
//     nest.role "state" copies 2 warps 4 registers 192 {
//       %zero = nest.compute "zero"() : () -> !nest.tile<64x128xf32, sums>
//       %last = nest.sweep "chunks" carry %zero : !nest.tile<64x128xf32, sums> {
//       ^bb0(%S: !nest.tile<64x128xf32, sums>):
//         %keys = nest.get %k : !nest.tile<64x128xbf16, swizzled>
//         ...
//         nest.release %k : !nest.tile<64x128xbf16, swizzled>
//         nest.yield %next : !nest.tile<64x128xf32, sums>
//       }
//     }
//   }
//
// A channel has `depth` slots in shared memory. Its only producer puts a tile of each chunk into the next slot, once all
// consumers have released what was there; each consumer gets the tiles in the same order. Barriers, phases and lifetimes
// follow from that. The verifier (Verify.cpp) runs the roles against each other, without numbers.
#ifndef WKVC_NEST_OPS
#define WKVC_NEST_OPS

include "codegen/schedule/ScheduleAttr.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Nest_Dialect : Dialect {
  let name = "nest";
  let cppNamespace = "::wkvc::nest";
  let summary = "Roles of warps, sweeps over chunks, and channels between roles";
  let useDefaultTypePrinterParser = 1;
}

class Nest_Type<string name, string word> : TypeDef<Nest_Dialect, name> { let mnemonic = word; }

def Nest_Function : I32EnumAttr<"Function", "what is done with elements", [
    I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"subtract", 1>, I32EnumAttrCase<"multiply", 2>,
    I32EnumAttrCase<"maximum", 3>, I32EnumAttrCase<"exp2", 4>
  ]> {
  let cppNamespace = "::wkvc::nest";
}

def Nest_Tile : Nest_Type<"Tile", "tile"> {
  let summary = "A matrix and where its elements lie: !nest.tile<64x128xf16, swizzled>";
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$element, "::wkvc::Layout":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t elementBytes() const;
    // Returns the bytes of one tile.
    int64_t bytes() const;
    bool isShared() const { return lies_in_shared_memory(getLayout()); }
    bool isNumber() const { return getRows() == 1 && getColumns() == 1; }
  }];
}

def Nest_Channel : Nest_Type<"Channel", "channel"> {
  let summary = "A channel of such tiles";
  let parameters = (ins "TileType":$tile);
  let assemblyFormat = "`<` $tile `>`";
}

def Nest_Pending : Nest_Type<"Pending", "pending"> {
  let summary = "A tile that an asynchronous instruction will have made";
  let parameters = (ins "TileType":$tile);
  let assemblyFormat = "`<` $tile `>`";
}

class Nest_Op<string name, list<Trait> traits = []> : Op<Nest_Dialect, name, traits>;

def Nest_KernelOp : Nest_Op<"kernel", [IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "One kernel: channels, and the roles of the warps of a block, which has so many bytes of shared memory";
  let description = [{
    A `cluster` of so many blocks runs a head together: each has a part of the state's rows, and its dealt sweeps their part
    of the chunks. The value rows of a head may be dealt to `parts`, with as many blocks that have nothing in common.
    A kernel `for` a recurrence says its tensors, as "input q bf16 B,T,H,K": such a kernel can be emitted, and all of its
    operations have a meaning. Others may have nest.compute.
    `expects` inputs: a guarded kernel. A block refuses a head, and leaves no last state, where a sample of one of these
    inputs is far below one, or where a role's nest.guard or nest.store_state sees what is not finite. It says so in a
    tensor such as "workspace forward_refused f32 B,H,1,1", for a kernel with scales behind this one.
  }];
  let arguments = (ins StrAttr:$sym_name, OptionalAttr<StrAttr>:$recurrence, OptionalAttr<I64Attr>:$chunk,
                       OptionalAttr<I64Attr>:$key_dim, OptionalAttr<I64Attr>:$value_dim,
                       OptionalAttr<StrArrayAttr>:$tensors, OptionalAttr<StrArrayAttr>:$expects, I64Attr:$shared,
                       DefaultValuedAttr<I64Attr, "1">:$cluster, Wkvc_Parts:$parts);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`for` $recurrence^ `chunk` $chunk `head` $key_dim `x` $value_dim `tensors` $tensors)? (`expects` $expects^)?
    `shared` $shared (`cluster` $cluster^)? (`parts` $parts^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Nest_ChannelOp : Nest_Op<"channel", [HasParent<"KernelOp">]> {
  let summary = "Slots for tiles of `depth` chunks";
  let description = [{
    `over` another channel: in the same slots. Its tile of a chunk takes the place of that tile, once all others have
    released that, and frees the slot for the next one. `across` a cluster: what one block puts is there for all blocks,
    and a slot is free when the consumers of all blocks have released it.
  }];
  // The pass places gives the first bytes of the tiles and of the mbarriers in shared memory.
  let arguments = (ins I64Attr:$depth, UnitAttr:$across, Optional<Nest_Channel>:$over, OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<I64Attr>:$mbarriers);
  let results = (outs Nest_Channel:$channel);
  let assemblyFormat = [{
    `depth` $depth (`across` $across^)? (`over` $over^ `:` custom<TileOf>(type($over)) `to`)? `:` custom<TileOf>(type($channel)) attr-dict
  }];
  let hasVerifier = 1;
}

def Nest_RoleOp : Nest_Op<"role", [HasParent<"KernelOp">, SingleBlock, NoTerminator]> {
  let summary = "What `warps` warps do, each of whose threads has so many registers";
  let description = [{
    `copies` of them have a part of each tile that they put.
  }];
  let arguments = (ins StrAttr:$sym_name, DefaultValuedAttr<I64Attr, "1">:$copies, I64Attr:$warps,
                       I64Attr:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`copies` $copies^)? `warps` $warps `registers` $registers attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Nest_SweepOp : Nest_Op<"sweep", [SingleBlock, NoTerminator, ParentOneOf<["RoleOp", "SweepOp"]>,
    RangedTypesMatchWith<"results are as what is carried", "carried", "results", "$_self">]> {
  let summary = "Over chunks in order, with what a chunk leaves for the next one";
  let description = [{
    Over all "chunks"; over "groups" `of` so many, with sweeps over the chunks of the "group" in it. Forward, or
    `backward`. `dealt`: each copy of the role, in each block of a cluster, does every so many-th chunk alone.
  }];
  let arguments = (ins StrAttr:$over, OptionalAttr<I64Attr>:$size, UnitAttr:$backward, UnitAttr:$dealt, Variadic<Nest_Tile>:$carried);
  let results = (outs Variadic<Nest_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $over (`of` $size^)? (`backward` $backward^)? (`dealt` $dealt^)? (`carry` $carried^ `:` type($carried))? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Nest_YieldOp : Nest_Op<"yield", [Terminator, HasParent<"SweepOp">]> {
  let arguments = (ins Variadic<Nest_Tile>:$next);
  let assemblyFormat = "($next^ `:` type($next))? attr-dict";
}

def Nest_LoadOp : Nest_Op<"load"> {
  let summary = "Starts copying a tensor's rows of the chunk `ahead` of the current one into the next slot";
  let description = "Those of the first chunks start before the sweep.";
  let arguments = (ins StrAttr:$tensor, DefaultValuedAttr<I64Attr, "0">:$ahead, Nest_Channel:$channel);
  let assemblyFormat = "$tensor (`ahead` $ahead^)? `into` $channel `:` custom<TileOf>(type($channel)) attr-dict";
  let hasVerifier = 1;
}

def Nest_PutOp : Nest_Op<"put"> {
  let summary = "A tile of the current chunk for the next slot";
  let description = "Of a role with copies: its part.";
  let arguments = (ins Nest_Tile:$tile, Nest_Channel:$channel);
  let assemblyFormat = "$tile `into` $channel `:` type($tile) `to` custom<TileOf>(type($channel)) attr-dict";
  let hasVerifier = 1;
}

def Nest_GetOp : Nest_Op<"get", [TypesMatchWith<"a tile of the channel", "channel", "tile",
                                                "::llvm::cast<ChannelType>($_self).getTile()">]> {
  let summary = "Waits for the next tile";
  let arguments = (ins Nest_Channel:$channel);
  let results = (outs Nest_Tile:$tile);
  let assemblyFormat = "$channel `:` custom<TileOf>(type($channel)) attr-dict";
}

def Nest_ReleaseOp : Nest_Op<"release"> {
  let summary = "The tile that came last is not read any more by this role";
  let arguments = (ins Nest_Channel:$channel);
  let assemblyFormat = "$channel `:` custom<TileOf>(type($channel)) attr-dict";
}

def Nest_StoreOp : Nest_Op<"store"> {
  let summary = "A tile of the chunk `behind` the current one goes to a tensor";
  let description = "The current one of a store after a sweep is the one behind the last; of chunks before the first, nothing goes.";
  let arguments = (ins Nest_Tile:$tile, StrAttr:$tensor, DefaultValuedAttr<I64Attr, "0">:$behind);
  let assemblyFormat = "$tile `to` $tensor (`behind` $behind^)? `:` type($tile) attr-dict";
}

def Nest_TransposeOp : Nest_Op<"transpose", [Pure]> {
  let summary = "A tile with rows and columns exchanged: read so from shared memory, or put so into shared memory";
  let arguments = (ins Nest_Tile:$tile);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$tile `:` type($tile) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_PartOp : Nest_Op<"part", [Pure]> {
  let summary = "Some rows or columns of a tile in shared memory: this copy's part, or the next one of its parts";
  let arguments = (ins Nest_Tile:$tile);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$tile `:` type($tile) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_MultiplyOp : Nest_Op<"multiply"> {
  let summary = "x times y, added to a sum or not, by instructions of a family that is done when it is issued";
  let arguments = (ins StrAttr:$family, Nest_Tile:$x, Nest_Tile:$y, Optional<Nest_Tile>:$sum);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = [{
    $family $x `,` $y (`add` $sum^ `:` type($sum))? `:` type($x) `,` type($y) `->` type($result) attr-dict
  }];
  let hasVerifier = 1;
}

def Nest_IssueOp : Nest_Op<"issue", [AttrSizedOperandSegments]> {
  let summary = "Starts x times y, added to a sum or not, by instructions of an asynchronous family";
  let description = "The sum may be of a product under way, `behind` which this one goes: both are waited for at once.";
  let arguments = (ins StrAttr:$family, Nest_Tile:$x, Nest_Tile:$y, Optional<Nest_Tile>:$sum,
                       Optional<Nest_Pending>:$behind);
  let results = (outs Nest_Pending:$result);
  let assemblyFormat = [{
    $family $x `,` $y (`add` $sum^ `:` type($sum))? (`behind` $behind^ `:` custom<PendingTile>(type($behind)))? `:`
    type($x) `,` type($y) `->` custom<PendingTile>(type($result)) attr-dict
  }];
  let hasVerifier = 1;
}

def Nest_AwaitOp : Nest_Op<"await", [TypesMatchWith<"the tile that is under way", "pending", "tile",
                                                    "::llvm::cast<PendingType>($_self).getTile()">]> {
  let summary = "Waits until a product is there; its operands may be written over then";
  let arguments = (ins Nest_Pending:$pending);
  let results = (outs Nest_Tile:$tile);
  let assemblyFormat = "$pending `:` custom<PendingTile>(type($pending)) attr-dict";
}

def Nest_ConstantOp : Nest_Op<"constant", [Pure]> {
  let summary = "A number, or a tile of zeros";
  let arguments = (ins F32Attr:$value);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$value `:` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_ElementwiseOp : Nest_Op<"elementwise", [Pure]> {
  let summary = "A function of each element, in f32; an extent of 1 is repeated";
  let description = "So a 64x1 tile has a value for each row, a 1x64 tile one for each column, a 1x1 tile a number.";
  let arguments = (ins Nest_Function:$function, Variadic<Nest_Tile>:$operands);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$function $operands `:` type($operands) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_ConvertOp : Nest_Op<"convert", [Pure]> {
  let summary = "A tile in registers, as other elements: what a role needs behind a release, or multiplies";
  let arguments = (ins Nest_Tile:$tile);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$tile `:` type($tile) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_TokensOp : Nest_Op<"tokens"> {
  let summary = "A tensor's number of each token of the chunk `ahead` of the current one; outside a sweep, of the first";
  let arguments = (ins StrAttr:$tensor, DefaultValuedAttr<I64Attr, "0">:$ahead);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$tensor (`ahead` $ahead^)? `:` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_CumsumOp : Nest_Op<"cumsum", [Pure, SameOperandsAndResultType]> {
  let summary = "Running sums of tokens' numbers";
  let arguments = (ins Nest_Tile:$tile);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$tile `:` type($tile) attr-dict";
  let hasVerifier = 1;
}

def Nest_ElementOp : Nest_Op<"element", [Pure]> {
  let summary = "The number of a token, or of a column of a row";
  let arguments = (ins Nest_Tile:$tile, I64Attr:$index);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$tile `[` $index `]` `:` type($tile) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_StackOp : Nest_Op<"stack", [Pure]> {
  let summary = "Tokens' numbers as rows of a tile, which a channel takes";
  let arguments = (ins Variadic<Nest_Tile>:$rows);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$rows `:` type($rows) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_RowOp : Nest_Op<"row", [Pure]> {
  let summary = "A row of a plain tile in shared memory";
  let arguments = (ins Nest_Tile:$tile, I64Attr:$index);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$tile `[` $index `]` `:` type($tile) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_DecayedPairsOp : Nest_Op<"decayed_pairs", [Pure]> {
  let summary = "Products of tokens i (rows) and j (columns) times two to the sums of i less those of j, for j up to i";
  let description = "Zero elsewhere; `unmasked`: what nobody may read.";
  let arguments = (ins Nest_Tile:$products, Nest_Tile:$sums, UnitAttr:$unmasked);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "(`unmasked` $unmasked^)? $products `,` $sums `:` type($products) `,` type($sums) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_SolveDiagonalOp : Nest_Op<"solve_diagonal"> {
  let summary = "Substitution with I and what each 16x16 block on the diagonal of a tile has below its diagonal";
  let description = "Makes the inverses, and these times the blocks of level 16 to their left.";
  // The pass places gives the first byte of the scratch in shared memory.
  let arguments = (ins Nest_Tile:$tile, OptionalAttr<I64Attr>:$scratch);
  let results = (outs Variadic<Nest_Tile>:$results);
  let assemblyFormat = "$tile `:` type($tile) `->` type($results) attr-dict";
  let hasVerifier = 1;
}

def Nest_DiagonalOp : Nest_Op<"diagonal", [Pure]> {
  let summary = "16x16 blocks with a number, or with those of a column, on the diagonal, and zero elsewhere";
  let arguments = (ins Nest_Tile:$numbers);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$numbers `:` type($numbers) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_SetBlocksOp : Nest_Op<"set_blocks", [Pure]> {
  let summary = "A square tile, or zeros, to be put with other 16x16 blocks on the diagonal, or as those of level 16";
  let description = "Those of the level come first, and those on the diagonal then.";
  let arguments = (ins UnitAttr:$level, Nest_Tile:$blocks, Optional<Nest_Tile>:$tile);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "(`level` $level^)? $blocks (`into` $tile^ `:` type($tile))? `:` type($blocks) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Nest_LevelOp : Nest_Op<"level", [Pure, SameOperandsAndResultType]> {
  let summary = "The lower left quarters of the blocks of 2·rows rows on the diagonal of a square tile, and zero elsewhere";
  let description = "`without`: zero in these quarters, and what the tile has elsewhere.";
  let arguments = (ins I64Attr:$rows, UnitAttr:$without, Nest_Tile:$tile);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$rows (`without` $without^)? $tile `:` type($tile) attr-dict";
  let hasVerifier = 1;
}

def Nest_LoadStateOp : Nest_Op<"load_state"> {
  let summary = "A tensor's state, of which each copy has rows; zero where there is none";
  let arguments = (ins StrAttr:$tensor);
  let results = (outs Nest_Tile:$result);
  let assemblyFormat = "$tensor `:` type($result) attr-dict";
}

def Nest_StoreStateOp : Nest_Op<"store_state"> {
  let summary = "A state goes to a tensor, if anybody wants it";
  let description = [{
    In a guarded kernel all roles meet before. The state stays out of the tensor where the block refuses: where a guard has
    seen what is not finite, or the state has such an element.
  }];
  let arguments = (ins Nest_Tile:$tile, StrAttr:$tensor);
  let assemblyFormat = "$tile `to` $tensor `:` type($tile) attr-dict";
}

def Nest_GuardOp : Nest_Op<"guard"> {
  let summary = "In a guarded kernel: the block refuses if an element is not finite";
  let description = [{
    Numbers beyond f16 become infinite where they are rounded, and products and sums keep what is not finite. So a guard
    sees it in all tiles that come of a rounded one.
  }];
  let arguments = (ins Nest_Tile:$tile);
  let assemblyFormat = "$tile `:` type($tile) attr-dict";
  let hasVerifier = 1;
}

def Nest_ComputeOp : Nest_Op<"compute"> {
  let summary = "Tiles from tiles, by a function whose meaning nobody has written down yet";
  let arguments = (ins StrAttr:$function, Variadic<Nest_Tile>:$operands);
  let results = (outs Variadic<Nest_Tile>:$results);
  let assemblyFormat = "$function `(` $operands `)` `:` functional-type($operands, $results) attr-dict";
}

#endif
