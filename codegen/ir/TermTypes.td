// Element types of operands in two terms, for constraints of operations.
#ifndef WKVC_TERM_TYPES
#define WKVC_TERM_TYPES

include "mlir/IR/AttrTypeBase.td"

def Wkvc_Bf16x3 : Type<CPred<"::llvm::isa<::wkvc::Bf16x3Type>($_self)">, "bf16x3 type">;
def Wkvc_F16x2 : Type<CPred<"::llvm::isa<::wkvc::F16x2Type>($_self)">, "f16x2 type">;
def Wkvc_LowerF16x2 : Type<CPred<"::llvm::isa<::wkvc::LowerF16x2Type>($_self)">, "lower_f16x2 type">;

#endif
