// The element type of operands of --mma bf16x3: a sum of two bf16 terms, contracted in three products of bf16. MLIR has
// none of 32 bits beside f32 and tf32, which both mean something else here.
#pragma once

#include <llvm/ADT/APFloat.h>
#include <mlir/IR/BuiltinTypeInterfaces.h>
#include <mlir/IR/Types.h>

namespace wkvc {

// !wkvc.bf16x3, of the dialect wkvc. Implements MLIR's interface of floats, so that tensors, vectors and memrefs take
// it and ask for its bits.
class Bf16x3Type : public mlir::Type::TypeBase<Bf16x3Type, mlir::Type, mlir::TypeStorage,
                                               mlir::VectorElementTypeInterface::Trait, mlir::FloatType::Trait> {
 public:
  using Base::Base;
  static constexpr llvm::StringLiteral name = "wkvc.bf16x3";
  static constexpr llvm::StringLiteral word = "bf16x3";

  static Bf16x3Type get(mlir::MLIRContext* context) { return Base::get(context); }
  // Returns f32's: a bf16x3 has the size and the exponents of an f32.
  const llvm::fltSemantics& getFloatSemantics() const { return llvm::APFloat::IEEEsingle(); }
};

}  // namespace wkvc

MLIR_DECLARE_EXPLICIT_TYPE_ID(::wkvc::Bf16x3Type)
