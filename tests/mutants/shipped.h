// The configurations that wkvc comes with.
#pragma once

#include <string>
#include <vector>

#include "codegen/compiler.h"

namespace wkvc::test {

struct ShippedConfig {
  std::string name;  // "rwkv7 both 64x64: teams 2, rounds 2, …"
  std::string op;
  Config config;
};

std::vector<ShippedConfig> shipped_configs();  // each once

}  // namespace wkvc::test
