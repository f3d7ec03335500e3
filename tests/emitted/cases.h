// The configurations whose CUDA text is kept as a hash: each text that changes is seen.
#pragma once

#include <string>
#include <vector>

#include "codegen/compiler.h"

namespace wkvc::test {

struct EmittedCase {
  std::string name;  // "rwkv7: key_dim 64, value_dim 64, pass both, …"
  Source source;
  Config config;
};

std::vector<EmittedCase> emitted_cases();
std::vector<EmittedCase> shipped_cases();  // those of shipped configurations

// Returns the emitted text, or the message with which the compiler refuses the configuration.
std::string emitted_text(const EmittedCase& of);

}  // namespace wkvc::test
