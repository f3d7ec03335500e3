#include "autotune/lockfile/json_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace wkvc {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t widest = 100;

std::string compact(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

bool is_plain(const Json& value) {
  return std::ranges::none_of(value, [](const Json& member) { return member.is_structured(); });
}

// A list or an object of plain values on one line, with spaces behind commas and colons.
std::string one_line(const Json& value) {
  std::string text;
  for (const auto& [key, member] : value.items()) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += compact(key) + ": ";
    text += compact(member);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

void add(std::string& text, const Json& value, std::size_t indent) {
  if (!value.is_structured()) {
    text += compact(value);
    return;
  }
  if (const std::string line = one_line(value); is_plain(value) && indent + line.size() <= widest) {
    text += line;
    return;
  }
  text += value.is_object() ? "{\n" : "[\n";
  bool first = true;
  for (const auto& [key, member] : value.items()) {
    if (!first) text += ",\n";
    first = false;
    text.append(indent + 2, ' ');
    if (value.is_object()) text += compact(key) + ": ";
    add(text, member, indent + 2);
  }
  text += fmt::format("\n{:{}}{}", "", indent, value.is_object() ? '}' : ']');
}

}  // namespace

std::string readable_json(const Json& object) {
  std::string text;
  add(text, object, 0);
  return text + '\n';
}

}  // namespace wkvc
