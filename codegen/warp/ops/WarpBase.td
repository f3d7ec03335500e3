// What all operations of the warp dialect begin with.
#ifndef WKVC_WARP_BASE
#define WKVC_WARP_BASE

include "codegen/ir/TermTypes.td"
include "codegen/schedule/ScheduleAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Warp_Dialect : Dialect {
  let name = "warp";
  let cppNamespace = "::wkvc::warp";
  let dependentDialects = ["::wkvc::WkvcDialect"];
  let summary = "Register tiles, shared tiles, copies and barriers of the warps of one block";
}

def Warp_Tile : VectorOfRankAndType<[2], [F32, TF32, F16, BF16, Wkvc_Bf16x3, Wkvc_F16x2, Wkvc_LowerF16x2]>;
def Warp_Tile32 : VectorOfRankAndType<[2], [F32]>;
def Warp_Shared : MemRefRankOf<[F32, TF32, F16, BF16, Wkvc_Bf16x3, Wkvc_F16x2, Wkvc_LowerF16x2], [2]>;
def Warp_Floats : MemRefRankOf<[F32], [1]>;
def Warp_Operand : AnyTypeOf<[Warp_Tile, Warp_Shared]>;

class Warp_Op<string name, list<Trait> traits = []> : Op<Warp_Dialect, name, traits>;

#endif
