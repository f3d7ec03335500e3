#include "runtime/base/escape.h"

#include <fmt/format.h>

#include <algorithm>

namespace wkvc {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// The bytes of the character that a text begins with; 0 where they are no UTF-8.
std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  if (length > text.size()) return 0;
  return std::ranges::all_of(text.substr(1, length == 0 ? 0 : length - 1), continues) ? length : 0;
}

// Control characters are those below the blank, 7f, and 80 to 9f, which UTF-8 spells c2 80 to c2 9f.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string spelled(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\t") return "\\t";
  std::string text;
  for (const char byte : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const bool shown = length > 0 && (!is_control(character) || kept.find(character) != std::string_view::npos);
    result += shown ? std::string(character) : spelled(character);
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace

std::string escaped_name(std::string_view name) { return escaped(name, ""); }

std::string escaped_text(std::string_view text) { return escaped(text, "\n\t"); }

}  // namespace wkvc
