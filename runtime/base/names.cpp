#include "runtime/base/names.h"

#include <algorithm>

namespace wkvc {

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || digit(c); });
}

bool is_arch(std::string_view text) {
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  if (text.ends_with('a') || text.ends_with('f')) text.remove_suffix(1);
  return (text.size() == 2 || text.size() == 3) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace wkvc
