// From a definition to a verified module of the rec dialect.
#pragma once

#include "codegen/rec/Rec.h"
#include "dsl/wkvc.h"

namespace wkvc {

// `config` overrides what the definition declares: key_dim and value_dim, the contractions' default dtype (mma), the
// budget (sram), and io the storage of inputs, parameters and outputs that have the dtype of the first input.
mlir::OwningOpRef<mlir::ModuleOp> build(const Definition& definition, mlir::MLIRContext& context,
                                        const Config& config = {});

}  // namespace wkvc
