#include "codegen/rec/Names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/launch/map_names.h"
#include "runtime/manifest/refusal_names.h"

namespace wkvc::rec {
namespace {

const std::set<std::string_view> cpp_keywords = {
    "alignas",     "alignof",   "and",        "and_eq",    "asm",      "auto",         "bitand",
    "bitor",       "bool",      "break",      "case",      "catch",    "char",         "char8_t",
    "char16_t",    "char32_t",  "class",      "compl",     "concept",  "const",        "consteval",
    "constexpr",   "constinit", "const_cast", "continue",  "co_await", "co_return",    "co_yield",
    "decltype",    "default",   "delete",     "do",        "double",   "dynamic_cast", "else",
    "enum",        "explicit",  "export",     "extern",    "false",    "float",        "for",
    "friend",      "goto",      "if",         "inline",    "int",      "long",         "mutable",
    "namespace",   "new",       "noexcept",   "not",       "not_eq",   "nullptr",      "operator",
    "or",          "or_eq",     "private",    "protected", "public",   "register",     "reinterpret_cast",
    "requires",    "return",    "short",      "signed",    "sizeof",   "static",       "static_assert",
    "static_cast", "struct",    "switch",     "template",  "this",     "thread_local", "throw",
    "true",        "try",       "typedef",    "typeid",    "typename", "union",        "unsigned",
    "using",       "virtual",   "void",       "volatile",  "wchar_t",  "while",        "xor",
    "xor_eq"};

// What CUDA predefines, and macros of the C library.
const std::set<std::string_view> predefined = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "asm",
                                               "typeof",    "linux",    "unix",     "assert",  "errno",    "INFINITY",
                                               "NAN",       "NULL",     "main",     "std"};

// What emitted kernels and the manifest call their own.
const std::set<std::string_view> own = {"cuda",
                                        "wkvc",
                                        "half",
                                        "initial_state",
                                        "final_state",
                                        "intermediate_states",
                                        "args",
                                        "smem",
                                        "chunk",
                                        "token",
                                        "lane",
                                        "warp",
                                        "batch",
                                        "head",
                                        "seq_len",
                                        "segment_states",
                                        "segment_gradients"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The text with what can't be shown on one line escaped.
std::string quoted(std::string_view name) {
  std::string text = "'";
  for (char c : name.substr(0, 64)) {
    if (c >= ' ' && c <= '~')
      text += c;
    else
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text + (name.size() > 64 ? "...'" : "'");
}

}  // namespace

std::optional<std::string> name_fault(std::string_view name) {
  const bool identifier = !name.empty() && name.size() <= 64 && is_letter(name[0]) &&
                          std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
  if (!identifier)
    return fmt::format("name {} is not an identifier: use up to 64 letters, digits and _, not starting with a digit",
                       quoted(name));
  if (cpp_keywords.contains(name)) return fmt::format("name '{}' is a C++ keyword: choose another", name);
  if (name == starts_name || name == slots_name)
    return fmt::format("name '{}' is that of a map of sequences in files and launches: choose another", name);
  if (predefined.contains(name) || own.contains(name) || is_of_refusals(name))
    return fmt::format("name '{}' is used by emitted kernels: choose another", name);
  if (name[0] == '_' || name.find("__") != name.npos)
    return fmt::format("name '{}' is reserved in C++: don't start with _ or use two in a row", name);
  return std::nullopt;
}

}  // namespace wkvc::rec
