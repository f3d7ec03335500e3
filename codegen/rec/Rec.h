// The rec dialect: one token of one head. RecOps.td describes the operations.
#pragma once

#include <string>
#include <string_view>

#include "codegen/rec/Limits.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/tensor/dtype.h"

namespace wkvc::rec {

class StateOp;
class UpdateOp;

// A tensor of f32, f16 or bf16 whose rank is one of `ranks`.
bool is_tensor(mlir::Type type, llvm::ArrayRef<std::int64_t> ranks, bool f32_only);
bool is_scalar(mlir::Type type);
mlir::RankedTensorType scalar_type(mlir::MLIRContext* context);  // tensor<1xf32>

mlir::Type mlir_type(DType dtype, mlir::MLIRContext* context);
DType dtype_of(mlir::Type element);

}  // namespace wkvc::rec

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "codegen/rec/RecDialect.h.inc"
#include "codegen/rec/RecEnums.h.inc"
#define GET_OP_CLASSES
#include "codegen/rec/RecOps.h.inc"
#pragma GCC diagnostic pop

namespace wkvc::rec {

// The axis a vector runs over; a matrix has none. It follows from the declarations, not from the extent: K may equal V.
std::optional<Dim> dim_of(mlir::Value value);

// Returns whether a value is a V×K matrix.
inline bool is_matrix(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()).getRank() == 2; }

// The recurrence of a module, which holds nothing else; throws UserError otherwise.
RecurrenceOp recurrence_of(mlir::ModuleOp module);

// Text to verified module and back. `file` is what errors call the text; they are UserErrors with file:line.
mlir::OwningOpRef<mlir::ModuleOp> parse(std::string_view text, std::string_view file, mlir::MLIRContext& context);
// `lines` gets the line of the text that each operation stands in.
std::string print(mlir::ModuleOp module, mlir::AsmState::LocationMap* lines = nullptr);

// Throws UserError with what the verifier says, at the locations of the operations.
void verify(mlir::ModuleOp module);

}  // namespace wkvc::rec
