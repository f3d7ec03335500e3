#include "codegen/schedule/ScheduleAttr.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/Hashing.h>
#include <mlir/IR/DialectImplementation.h>

#include <vector>

using namespace mlir;

MLIR_DEFINE_EXPLICIT_TYPE_ID(::wkvc::ScheduleAttr)
MLIR_DEFINE_EXPLICIT_TYPE_ID(::wkvc::WkvcDialect)

namespace wkvc {

namespace {

llvm::StringRef ref(std::string_view text) { return {text.data(), text.size()}; }

std::string known_groups() {
  std::string text;
  std::string_view last;
  for (const ScheduleField& field : schedule_fields()) {
    if (field.group != last) text += (text.empty() ? "" : ", ") + std::string(field.group);
    last = field.group;
  }
  return text;
}

std::string known_fields(std::string_view group) {
  std::string text;
  for (const ScheduleField& field : schedule_fields())
    if (field.group == group) text += (text.empty() ? "" : ", ") + std::string(field.name);
  return text;
}

ParseResult parse_value(AsmParser& parser, const ScheduleField& field, int& value) {
  const auto at = parser.getCurrentLocation();
  int64_t number = -1;
  if (field.words.empty()) {
    if (parser.parseInteger(number)) return failure();
  } else {
    llvm::StringRef word;
    if (parser.parseKeyword(&word)) return failure();
    const auto found = llvm::find(field.words, std::string_view(word));
    if (found != field.words.end()) number = found - field.words.begin();
  }
  if (number < field.least || number > field.most)
    return parser.emitError(at) << "a schedule's " << ref(field.group) << " has no such " << ref(field.name)
                                << "; expected " << values_text(field);
  value = static_cast<int>(number);
  return success();
}

ParseResult parse_field(AsmParser& parser, llvm::StringRef group, Schedule& schedule,
                        llvm::SmallVectorImpl<const ScheduleField*>& seen) {
  const auto at = parser.getCurrentLocation();
  llvm::StringRef name;
  int value = 0;
  if (parser.parseKeyword(&name)) return failure();
  const ScheduleField* field = find_field(group, name);
  if (!field && known_fields(group).empty())
    return parser.emitError(at) << "a schedule has no part '" << group << "'; expected " << known_groups();
  if (!field)
    return parser.emitError(at) << "a schedule's " << group << " has no '" << name << "'; expected "
                                << known_fields(group);
  if (llvm::is_contained(seen, field)) return parser.emitError(at) << "'" << name << "' is given twice";
  seen.push_back(field);
  if (parser.parseEqual() || parse_value(parser, *field, value)) return failure();
  field->set(schedule, value);
  return success();
}

ParseResult parse_groups(AsmParser& parser, Schedule& schedule) {
  llvm::SmallVector<const ScheduleField*> seen;
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalLessGreater, [&]() -> ParseResult {
    llvm::StringRef group;
    if (parser.parseKeyword(&group)) return failure();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                          [&] { return parse_field(parser, group, schedule, seen); });
  });
}

}  // namespace

llvm::hash_code detail::ScheduleStorage::hashKey(const KeyTy& key) {
  llvm::hash_code hash(0);
  for (const ScheduleField& field : schedule_fields()) hash = llvm::hash_combine(hash, field.get(key));
  return hash;
}

detail::ScheduleStorage* detail::ScheduleStorage::construct(AttributeStorageAllocator& allocator, const KeyTy& key) {
  return new (allocator.allocate<ScheduleStorage>()) ScheduleStorage(key);
}

WkvcDialect::WkvcDialect(MLIRContext* owner) : Dialect(getDialectNamespace(), owner, TypeID::get<WkvcDialect>()) {
  addAttributes<ScheduleAttr>();
}

Attribute WkvcDialect::parseAttribute(DialectAsmParser& parser, Type /*type*/) const {
  const auto at = parser.getCurrentLocation();
  llvm::StringRef kind;
  Schedule schedule;
  if (parser.parseKeyword(&kind)) return {};
  if (kind != "schedule") {
    parser.emitError(at) << "wkvc has no attribute '" << kind << "'; expected #wkvc.schedule<...>";
    return {};
  }
  if (parse_groups(parser, schedule)) return {};
  return ScheduleAttr::get(parser.getContext(), schedule);
}

void WkvcDialect::printAttribute(Attribute attribute, DialectAsmPrinter& printer) const {
  const std::string text = text_of(llvm::cast<ScheduleAttr>(attribute).getValue());
  printer << "schedule";
  if (!text.empty()) printer << "<" << text << ">";
}

}  // namespace wkvc
