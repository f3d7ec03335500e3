// What all operations of the warp dialect begin with.
#ifndef WKVC_WARP_BASE
#define WKVC_WARP_BASE

include "codegen/ir/TermTypes.td"
include "codegen/schedule/ScheduleAttr.td"
include "mlir/IR/AttrTypeBase.td"
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

def Warp_Tile : VectorOfRankAndType<[2], [F32, TF32, F16, BF16, Wkvc_Bf16x3, Wkvc_F16x2, Wkvc_LowerF16x2]>;
def Warp_Tile32 : VectorOfRankAndType<[2], [F32]>;
def Warp_Shared : MemRefRankOf<[F32, TF32, F16, BF16, Wkvc_Bf16x3, Wkvc_F16x2, Wkvc_LowerF16x2], [2]>;
def Warp_Floats : MemRefRankOf<[F32], [1]>;
def Warp_Operand : AnyTypeOf<[Warp_Tile, Warp_Shared]>;

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
