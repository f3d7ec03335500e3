// Heads in emitted texts: what texts call them, and what they define of them. Internal to the runtime and to emission.
#pragma once

#include <string>
#include <vector>

#include "runtime/manifest/manifest.h"

namespace wkvc {

// A line "#define MACRO NUMBER" of its own for each kernel of a text, the first one before anything is included.
struct Macro {
  const char* name;
  const char* field;  // of the manifest, with the number
  int number;         // no line defines 1

  std::string line() const;
};

std::vector<Macro> macros_of(const Manifest& manifest);

std::string head_text(const Manifest& manifest);       // "64x128", or "64x128 of 2 parts"
std::string launched_heads(const Manifest& manifest);  // "B·H heads", or "B·H heads and 2 parts of a head"

}  // namespace wkvc
