#include "codegen/ir/TermTypes.h"

MLIR_DEFINE_EXPLICIT_TYPE_ID(::wkvc::Bf16x3Type)
MLIR_DEFINE_EXPLICIT_TYPE_ID(::wkvc::F16x2Type)
MLIR_DEFINE_EXPLICIT_TYPE_ID(::wkvc::LowerF16x2Type)
