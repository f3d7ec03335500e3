// Structures of named choices as attributes of MLIR: storage, parser and printer of a table of fields.
#pragma once

#include <llvm/ADT/Hashing.h>
#include <llvm/ADT/STLExtras.h>
#include <mlir/IR/Attributes.h>
#include <mlir/IR/DialectImplementation.h>

#include "codegen/schedule/Fields.h"

namespace wkvc::detail {

inline llvm::StringRef ref(std::string_view text) { return {text.data(), text.size()}; }

// The groups of a table, and the fields that have none: what may come first.
template <class T>
std::string known_groups(std::span<const Field<T>> fields) {
  std::string text;
  std::string_view last;
  for (const Field<T>& field : fields) {
    const std::string_view known = field.group.empty() ? field.name : field.group;
    if (known != last) text += (text.empty() ? "" : ", ") + std::string(known);
    last = known;
  }
  return text;
}

template <class T>
std::string known_fields(std::span<const Field<T>> fields, std::string_view group) {
  std::string text;
  for (const Field<T>& field : fields)
    if (field.group == group) text += (text.empty() ? "" : ", ") + std::string(field.name);
  return text;
}

// Reads "name = value, group(name = value)" into a value.
template <class T>
class FieldParser {
 public:
  // `what` names the structure in messages: "a schedule".
  FieldParser(mlir::AsmParser& parser, llvm::StringRef what, std::span<const Field<T>> fields)
      : parser_(parser), what_(what), fields_(fields) {}

  mlir::ParseResult parse(T& value) {
    return parser_.parseCommaSeparatedList(mlir::AsmParser::Delimiter::OptionalLessGreater,
                                           [&] { return parse_part(value); });
  }

 private:
  mlir::ParseResult parse_part(T& value) {
    const auto at = parser_.getCurrentLocation();
    llvm::StringRef word;
    if (parser_.parseKeyword(&word)) return mlir::failure();
    if (const Field<T>* field = find_field(fields_, "", word)) return parse_value(at, *field, value);
    if (known_fields(fields_, word).empty())
      return parser_.emitError(at) << what_ << " has no part '" << word << "'; expected " << known_groups(fields_);
    return parser_.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Paren, [&] { return parse_field(word, value); });
  }

  mlir::ParseResult parse_field(llvm::StringRef group, T& value) {
    const auto at = parser_.getCurrentLocation();
    llvm::StringRef name;
    if (parser_.parseKeyword(&name)) return mlir::failure();
    if (const Field<T>* field = find_field(fields_, group, name)) return parse_value(at, *field, value);
    return parser_.emitError(at) << what_ << "'s " << group << " has no '" << name << "'; expected "
                                 << known_fields(fields_, group);
  }

  mlir::ParseResult parse_value(llvm::SMLoc name_at, const Field<T>& field, T& value) {
    if (llvm::is_contained(seen_, &field))
      return parser_.emitError(name_at) << "'" << ref(field.name) << "' is given twice";
    seen_.push_back(&field);
    if (parser_.parseEqual()) return mlir::failure();
    const auto at = parser_.getCurrentLocation();
    int64_t number = -1;
    llvm::StringRef word;
    std::string given = "nothing";
    if (field.words.empty()) {
      const mlir::OptionalParseResult parsed = parser_.parseOptionalInteger(number);
      if (parsed.has_value() && *parsed) return mlir::failure();
      if (parsed.has_value()) given = std::to_string(number);
    } else if (mlir::succeeded(parser_.parseOptionalKeyword(&word))) {
      const auto found = llvm::find(field.words, std::string_view(word));
      if (found != field.words.end()) number = found - field.words.begin();
      given = word.str();
    }
    if (number < field.least || number > field.most)
      return parser_.emitError(at) << what_ << (field.group.empty() ? "" : "'s ") << ref(field.group) << " has "
                                   << ref(field.name) << " = " << given << "; expected " << values_text(field);
    field.set(value, static_cast<int>(number));
    return mlir::success();
  }

  mlir::AsmParser& parser_;
  llvm::StringRef what_;
  std::span<const Field<T>> fields_;
  llvm::SmallVector<const Field<T>*> seen_;
};

template <class T>
llvm::hash_code hash_of(std::span<const Field<T>> fields, const T& value) {
  llvm::hash_code hash(0);
  for (const Field<T>& field : fields) hash = llvm::hash_combine(hash, field.get(value));
  return hash;
}

}  // namespace wkvc::detail
