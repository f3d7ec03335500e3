// Places in MLIR: at = #wkvc.place<owner = slab, phase = 1, last = 3, storage = shared> of an operation of a chunk
// program, and of the program phases = #wkvc.phases<warps = 2, prepare = 2, states = 1, finish = 2>.
#pragma once

#include <mlir/IR/Attributes.h>

#include "codegen/schedule/Place.h"

namespace wkvc {

namespace detail {

struct PlaceStorage : mlir::AttributeStorage {
  using KeyTy = ValuePlace;

  explicit PlaceStorage(const ValuePlace& place) : value(place) {}
  bool operator==(const KeyTy& key) const { return value == key; }
  static llvm::hash_code hashKey(const KeyTy& key);
  static PlaceStorage* construct(mlir::AttributeStorageAllocator& allocator, const KeyTy& key);

  ValuePlace value;
};

struct PhasesStorage : mlir::AttributeStorage {
  using KeyTy = Phases;

  explicit PhasesStorage(const Phases& phases) : value(phases) {}
  bool operator==(const KeyTy& key) const { return value == key; }
  static llvm::hash_code hashKey(const KeyTy& key);
  static PhasesStorage* construct(mlir::AttributeStorageAllocator& allocator, const KeyTy& key);

  Phases value;
};

}  // namespace detail

class PlaceAttr : public mlir::Attribute::AttrBase<PlaceAttr, mlir::Attribute, detail::PlaceStorage> {
 public:
  using Base::Base;
  static constexpr llvm::StringLiteral name = "wkvc.place";

  static PlaceAttr get(mlir::MLIRContext* context, const ValuePlace& place) { return Base::get(context, place); }
  const ValuePlace& getValue() const { return getImpl()->value; }
};

class PhasesAttr : public mlir::Attribute::AttrBase<PhasesAttr, mlir::Attribute, detail::PhasesStorage> {
 public:
  using Base::Base;
  static constexpr llvm::StringLiteral name = "wkvc.phases";

  static PhasesAttr get(mlir::MLIRContext* context, const Phases& phases) { return Base::get(context, phases); }
  const Phases& getValue() const { return getImpl()->value; }
};

}  // namespace wkvc

MLIR_DECLARE_EXPLICIT_TYPE_ID(::wkvc::PlaceAttr)
MLIR_DECLARE_EXPLICIT_TYPE_ID(::wkvc::PhasesAttr)
