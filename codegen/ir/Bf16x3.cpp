#include "codegen/ir/Bf16x3.h"

MLIR_DEFINE_EXPLICIT_TYPE_ID(::wkvc::Bf16x3Type)
