// The element type of operands of --mma bf16x3, for constraints of operations.
#ifndef WKVC_BF16X3
#define WKVC_BF16X3

include "mlir/IR/AttrTypeBase.td"

def Wkvc_Bf16x3 : Type<CPred<"::llvm::isa<::wkvc::Bf16x3Type>($_self)">, "bf16x3 type">;

#endif
