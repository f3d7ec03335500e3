// Schedules in MLIR: #wkvc.schedule<grid(segments = 4), prepare(teams = 2, warps = 2)>.
#pragma once

#include <mlir/IR/Attributes.h>
#include <mlir/IR/Dialect.h>

#include "codegen/schedule/Schedule.h"

namespace wkvc {

namespace detail {

struct ScheduleStorage : mlir::AttributeStorage {
  using KeyTy = Schedule;

  explicit ScheduleStorage(const Schedule& schedule) : value(schedule) {}
  bool operator==(const KeyTy& key) const { return value == key; }
  static llvm::hash_code hashKey(const KeyTy& key);
  static ScheduleStorage* construct(mlir::AttributeStorageAllocator& allocator, const KeyTy& key);

  Schedule value;
};

}  // namespace detail

class ScheduleAttr : public mlir::Attribute::AttrBase<ScheduleAttr, mlir::Attribute, detail::ScheduleStorage> {
 public:
  using Base::Base;
  static constexpr llvm::StringLiteral name = "wkvc.schedule";

  static ScheduleAttr get(mlir::MLIRContext* context, const Schedule& schedule) { return Base::get(context, schedule); }
  const Schedule& getValue() const { return getImpl()->value; }
};

// What is neither of programs nor of kernels alone.
class WkvcDialect : public mlir::Dialect {
 public:
  explicit WkvcDialect(mlir::MLIRContext* owner);
  static llvm::StringRef getDialectNamespace() { return "wkvc"; }

  mlir::Attribute parseAttribute(mlir::DialectAsmParser& parser, mlir::Type type) const override;
  void printAttribute(mlir::Attribute attribute, mlir::DialectAsmPrinter& printer) const override;
  mlir::Type parseType(mlir::DialectAsmParser& parser) const override;
  void printType(mlir::Type type, mlir::DialectAsmPrinter& printer) const override;
};

}  // namespace wkvc

MLIR_DECLARE_EXPLICIT_TYPE_ID(::wkvc::ScheduleAttr)
MLIR_DECLARE_EXPLICIT_TYPE_ID(::wkvc::WkvcDialect)
