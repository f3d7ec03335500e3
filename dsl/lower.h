// The expression graph as operations of the rec dialect.
#pragma once

#include "codegen/rec/Names.h"
#include "codegen/rec/Rec.h"
#include "dsl/node.h"

namespace wkvc::detail {

// Tensors declared as `from` are stored as `to`.
struct Restorage {
  DType from, to;
};

// `declarations` are complete. The module is not verified yet.
mlir::OwningOpRef<mlir::ModuleOp> lower(const Definition& definition, const Declarations& declarations,
                                        std::optional<Restorage> restorage, mlir::MLIRContext& context);

}  // namespace wkvc::detail
