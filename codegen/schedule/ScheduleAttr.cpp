#include "codegen/schedule/ScheduleAttr.h"

#include "codegen/ir/TermTypes.h"
#include "codegen/ir/Text.h"
#include "codegen/schedule/FieldAttr.h"
#include "codegen/schedule/PlaceAttr.h"

using namespace mlir;

MLIR_DEFINE_EXPLICIT_TYPE_ID(::wkvc::ScheduleAttr)
MLIR_DEFINE_EXPLICIT_TYPE_ID(::wkvc::PlaceAttr)
MLIR_DEFINE_EXPLICIT_TYPE_ID(::wkvc::PhasesAttr)
MLIR_DEFINE_EXPLICIT_TYPE_ID(::wkvc::WkvcDialect)

namespace wkvc {

namespace detail {

llvm::hash_code ScheduleStorage::hashKey(const KeyTy& key) { return hash_of(schedule_fields(), key); }
llvm::hash_code PlaceStorage::hashKey(const KeyTy& key) { return hash_of(place_fields(), key); }
llvm::hash_code PhasesStorage::hashKey(const KeyTy& key) { return hash_of(phases_fields(), key); }

ScheduleStorage* ScheduleStorage::construct(AttributeStorageAllocator& allocator, const KeyTy& key) {
  return new (allocator.allocate<ScheduleStorage>()) ScheduleStorage(key);
}
PlaceStorage* PlaceStorage::construct(AttributeStorageAllocator& allocator, const KeyTy& key) {
  return new (allocator.allocate<PlaceStorage>()) PlaceStorage(key);
}
PhasesStorage* PhasesStorage::construct(AttributeStorageAllocator& allocator, const KeyTy& key) {
  return new (allocator.allocate<PhasesStorage>()) PhasesStorage(key);
}

}  // namespace detail

namespace {

Attribute parse_schedule(AsmParser& parser) {
  Schedule schedule;
  if (detail::FieldParser(parser, "a schedule", schedule_fields()).parse(schedule)) return {};
  return ScheduleAttr::get(parser.getContext(), schedule);
}

Attribute parse_place(AsmParser& parser) {
  constexpr int same = -1;  // as the phase
  ValuePlace place;
  place.last = same;
  if (detail::FieldParser(parser, "a place", place_fields()).parse(place)) return {};
  if (place.last == same) place.last = place.phase;
  return PlaceAttr::get(parser.getContext(), place);
}

Attribute parse_phases(AsmParser& parser) {
  Phases phases;
  if (detail::FieldParser(parser, "what says of phases", phases_fields()).parse(phases)) return {};
  return PhasesAttr::get(parser.getContext(), phases);
}

}  // namespace

WkvcDialect::WkvcDialect(MLIRContext* owner) : Dialect(getDialectNamespace(), owner, TypeID::get<WkvcDialect>()) {
  addAttributes<ScheduleAttr, PlaceAttr, PhasesAttr>();
  addTypes<Bf16x3Type, F16x2Type, LowerF16x2Type>();
}

Attribute WkvcDialect::parseAttribute(DialectAsmParser& parser, Type /*type*/) const {
  const auto at = parser.getCurrentLocation();
  llvm::StringRef kind;
  if (parser.parseKeyword(&kind)) return {};
  if (kind == "schedule") return parse_schedule(parser);
  if (kind == "place") return parse_place(parser);
  if (kind == "phases") return parse_phases(parser);
  parser.emitError(at) << "wkvc has no attribute '" << kind << "'; expected #wkvc.schedule<...>, #wkvc.place<...> or "
                       << "#wkvc.phases<...>";
  return {};
}

void WkvcDialect::printAttribute(Attribute attribute, DialectAsmPrinter& printer) const {
  std::string kind = "schedule", text;
  if (auto schedule = llvm::dyn_cast<ScheduleAttr>(attribute)) text = text_of(schedule.getValue());
  if (auto place = llvm::dyn_cast<PlaceAttr>(attribute)) kind = "place", text = text_of(place.getValue());
  if (auto phases = llvm::dyn_cast<PhasesAttr>(attribute)) kind = "phases", text = text_of(phases.getValue());
  printer << kind;
  if (!text.empty()) printer << "<" << text << ">";
}

Type WkvcDialect::parseType(DialectAsmParser& parser) const {
  const auto at = parser.getCurrentLocation();
  llvm::StringRef kind;
  if (parser.parseKeyword(&kind)) return {};
  if (kind == Bf16x3Type::word) return Bf16x3Type::get(getContext());
  if (kind == F16x2Type::word) return F16x2Type::get(getContext());
  if (kind == LowerF16x2Type::word) return LowerF16x2Type::get(getContext());
  parser.emitError(at) << "wkvc has no type '" << kind << "'; expected !wkvc." << Bf16x3Type::word << ", !wkvc."
                       << F16x2Type::word << " or !wkvc." << LowerF16x2Type::word;
  return {};
}

void WkvcDialect::printType(Type type, DialectAsmPrinter& printer) const { printer << dtype_text(type); }

}  // namespace wkvc
