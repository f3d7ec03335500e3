// Structures of named choices: one table of fields, from which text, comparison and hash follow. Needs no MLIR.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace wkvc {

// One field of a structure T, in its text "group(name = value)", or without a group "name = value".
template <class T>
struct Field {
  std::string_view group, name;             // grid, segments
  std::span<const std::string_view> words;  // of an enumeration, in its order; none: a number
  int least, most;
  int (*get)(const T&);
  void (*set)(T&, int);
};

// Returns the value as text has it: "4", "guarded".
template <class T>
std::string value_text(const Field<T>& field, int value) {
  return field.words.empty() ? fmt::format("{}", value) : std::string(field.words[static_cast<std::size_t>(value)]);
}

// Returns the values that a field takes, for people: "1 to 256", "scaled or guarded".
template <class T>
std::string values_text(const Field<T>& field) {
  if (field.words.empty()) return fmt::format("{} to {}", field.least, field.most);
  std::string text;
  for (const std::string_view word : field.words) text += (text.empty() ? "" : " or ") + std::string(word);
  return text;
}

// Returns the field, or null if there is none.
template <class T>
const Field<T>* find_field(std::span<const Field<T>> fields, std::string_view group, std::string_view name) {
  const auto found =
      std::ranges::find_if(fields, [&](const Field<T>& f) { return f.group == group && f.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

// Returns the fields that are not those of `unset`: "grid(segments = 4), prepare(teams = 2, warps = 2)".
template <class T>
std::string text_of(std::span<const Field<T>> fields, const T& value, const T& unset) {
  std::string text;
  std::string_view group;
  for (const Field<T>& field : fields) {
    const int number = field.get(value);
    if (number == field.get(unset)) continue;
    if (field.group != group && !group.empty()) text += ")";
    if (!text.empty()) text += ", ";
    if (field.group != group && !field.group.empty()) text += std::string(field.group) + "(";
    group = field.group;
    text += fmt::format("{} = {}", field.name, value_text(field, number));
  }
  return group.empty() ? text : text + ")";
}

}  // namespace wkvc
