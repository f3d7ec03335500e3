// What all operations of the warp dialect begin with.
#ifndef WKVC_WARP_BASE
#define WKVC_WARP_BASE

include "codegen/schedule/ScheduleAttr.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Warp_Dialect : Dialect {
  let name = "warp";
  let cppNamespace = "::wkvc::warp";
  let dependentDialects = ["::wkvc::WkvcDialect"];
  let useDefaultTypePrinterParser = 1;
  let summary = "Register tiles, shared tiles, copies and barriers of the warps of one block";
}

def Warp_TileType : TypeDef<Warp_Dialect, "Tile", [ShapedTypeInterface]> {
  let mnemonic = "tile";
  let summary = "A matrix and where its elements lie: !warp.tile<16x64xf16, fragments>";
  let description = "Or an array of floats in shared memory, which is plain: !warp.tile<64xf32, plain>.";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "::wkvc::Layout":$layout);
  let builders = [TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$element,
                                                      "::wkvc::Layout":$layout), [{
    return $_get(element.getContext(), shape, element, layout);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasRank() const { return true; }
    TileType cloneWith(std::optional<::llvm::ArrayRef<int64_t>> shape, ::mlir::Type element) const {
      return get(shape.value_or(getShape()), element, getLayout());
    }
    TileType withLayout(::wkvc::Layout layout) const { return get(getShape(), getElementType(), layout); }
    bool isMatrix() const { return getRank() == 2; }
    bool isArray() const { return getRank() == 1; }
    bool isInSharedMemory() const { return lies_in_shared_memory(getLayout()); }
    bool isInRegisters() const { return !isInSharedMemory(); }
  }];
}

// A tile of which all this holds.
class Warp_TileThat<list<string> is, string text> : Type<And<
    [CPred<"::llvm::isa<::wkvc::warp::TileType>($_self)">] #
    !foreach(method, is, CPred<"::llvm::cast<::wkvc::warp::TileType>($_self)." # method # "()">)>,
  text, "::wkvc::warp::TileType">;

def Warp_Tile : Warp_TileThat<["isInRegisters"], "tile in registers">;
def Warp_Tile32 : Warp_TileThat<["isInRegisters", "getElementType().isF32"], "tile of f32 in registers">;
def Warp_Shared : Warp_TileThat<["isInSharedMemory", "isMatrix"], "tile in shared memory">;
def Warp_Floats : Warp_TileThat<["isArray"], "array of floats in shared memory">;
def Warp_Operand : Warp_TileThat<["isMatrix"], "tile">;

def Warp_Over : I32EnumAttr<"Over", "what a sweep goes over", [
    I32EnumAttrCase<"chunks", 0>,  // all of them
    I32EnumAttrCase<"groups", 1>,  // of chunks between saved states, from the last
    I32EnumAttrCase<"group", 2>,   // the chunks of one of those
    I32EnumAttrCase<"rounds", 3>,  // of a chunk for each team
    I32EnumAttrCase<"round", 4>    // the chunks of one of those
  ]> {
  let cppNamespace = "::wkvc::warp";
}

def Warp_Work : I32EnumAttr<"Work", "what the warps of a role do", [
    I32EnumAttrCase<"prepare", 0>,  // what does not depend on the state
    I32EnumAttrCase<"state", 1>     // take the state through chunks, 16 of its rows a warp
  ]> {
  let cppNamespace = "::wkvc::warp";
}

// The names in texts; codegen/instructions says what each family takes.
def Warp_Family : I32EnumAttr<"Family", "instructions that make a contraction", [
    I32EnumAttrCase<"mma_sync", 0>,         // each warp by itself
    I32EnumAttrCase<"wgmma_registers", 1>   // four warps with rows of their own, which read y together
  ]> {
  let cppNamespace = "::wkvc::warp";
}

def Warp_Slabs : I32EnumAttr<"Slabs", "what the warps of a block have 16 of each, of a tile", [
    I32EnumAttrCase<"rows", 0>, I32EnumAttrCase<"columns", 1>]> {
  let cppNamespace = "::wkvc::warp";
}

def Warp_ChunkOfRound : I32EnumAttr<"ChunkOfRound", "a chunk of a round, by its place in the sequence", [
    I32EnumAttrCase<"first", 0>, I32EnumAttrCase<"last", 1>]> {
  let cppNamespace = "::wkvc::warp";
}

def Warp_Triangle : I32EnumAttr<"Triangle", "the half of a square operand that is not zero", [
    I32EnumAttrCase<"lower", 0>, I32EnumAttrCase<"upper", 1>]> {
  let cppNamespace = "::wkvc::warp";
}

def Warp_Channel : TypeDef<Warp_Dialect, "Channel"> {
  let mnemonic = "channel";
  let summary = "Slots of shared memory that one role fills and another one reads";
}

class Warp_Op<string name, list<Trait> traits = []> : Op<Warp_Dialect, name, traits>;

#endif
