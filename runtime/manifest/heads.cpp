#include "runtime/manifest/heads.h"

#include <fmt/format.h>

namespace wkvc {

std::string Macro::line() const { return fmt::format("#define {} {}", name, number); }

std::vector<Macro> macros_of(const Manifest& manifest) { return {{"WKVC_PARTS", "parts", manifest.parts}}; }

std::string head_text(const Manifest& manifest) {
  const std::string dims = fmt::format("{}x{}", manifest.key_dim, manifest.head_values());
  return manifest.parts > 1 ? fmt::format("{} of {} parts", dims, manifest.parts) : dims;
}

std::string launched_heads(const Manifest& manifest) {
  return manifest.parts > 1 ? fmt::format("B·H heads and {} parts of a head", manifest.parts) : "B·H heads";
}

}  // namespace wkvc
