// Element types of operands in two terms: a number rounded, and what that left of the number, rounded. MLIR has none of
// 32 bits beside f32 and tf32, which both mean something else here.
#pragma once

#include <llvm/ADT/APFloat.h>
#include <mlir/IR/BuiltinTypeInterfaces.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Types.h>

namespace wkvc {

// A type of the dialect wkvc, !wkvc.WORD. Implements MLIR's interface of floats, so that tensors and tiles take it
// and ask for its bits, of which an element takes as many as an f32, or as an f16.
template <class Type, int Bits = 32>  // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility)
struct TermType : mlir::Type::TypeBase<Type, mlir::Type, mlir::TypeStorage, mlir::VectorElementTypeInterface::Trait,
                                       mlir::FloatType::Trait> {
  using Base = mlir::Type::TypeBase<Type, mlir::Type, mlir::TypeStorage, mlir::VectorElementTypeInterface::Trait,
                                    mlir::FloatType::Trait>;
  using Base::Base;

  static Type get(mlir::MLIRContext* context) { return Base::get(context); }
  // Returns f32's or f16's: MLIR has no number of two terms.
  const llvm::fltSemantics& getFloatSemantics() const {
    return Bits == 16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::IEEEsingle();
  }
};

// A sum of two bf16: an operand of --mma bf16x3, contracted with its like in three products.
struct Bf16x3Type : TermType<Bf16x3Type> {
  using TermType::TermType;
  static constexpr llvm::StringLiteral name = "wkvc.bf16x3";
  static constexpr llvm::StringLiteral word = "bf16x3";
};

// A sum of two f16: an operand that is contracted with an f16 in two products.
struct F16x2Type : TermType<F16x2Type> {
  using TermType::TermType;
  static constexpr llvm::StringLiteral name = "wkvc.f16x2";
  static constexpr llvm::StringLiteral word = "f16x2";
};

// The same of a lower triangular matrix whose diagonal f16 holds, as an inverse: low terms lie where it has zeros,
// those of row i and column j in row j and column i. So it takes the memory of one f16.
struct LowerF16x2Type : TermType<LowerF16x2Type, 16> {
  using TermType::TermType;
  static constexpr llvm::StringLiteral name = "wkvc.lower_f16x2";
  static constexpr llvm::StringLiteral word = "lower_f16x2";
};

// Returns whether elements take the memory of both of their terms.
inline bool has_terms(mlir::Type element) { return llvm::isa<Bf16x3Type, F16x2Type>(element); }
// Returns whether a matrix lies with its low terms behind the diagonal, and so is moved as a whole and square.
inline bool is_folded(mlir::Type element) { return llvm::isa<LowerF16x2Type>(element); }
// Returns the element type of a tensor that holds such elements.
inline mlir::Type in_tensors(mlir::Type element) {
  return is_folded(element) ? mlir::Float16Type::get(element.getContext()) : element;
}
// Returns whether operands of the type may carry a scale.
inline bool may_have_scale(mlir::Type element) {
  return element.isF16() || llvm::isa<F16x2Type, LowerF16x2Type>(element);
}
// Returns whether operands of the two types are contracted with each other.
inline bool are_contracted(mlir::Type x, mlir::Type y) { return x == y || (may_have_scale(x) && may_have_scale(y)); }

}  // namespace wkvc

MLIR_DECLARE_EXPLICIT_TYPE_ID(::wkvc::Bf16x3Type)
MLIR_DECLARE_EXPLICIT_TYPE_ID(::wkvc::F16x2Type)
MLIR_DECLARE_EXPLICIT_TYPE_ID(::wkvc::LowerF16x2Type)
