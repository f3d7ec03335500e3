// Configurations of a pass by the dtypes of operands and storage.
#pragma once

#include <string>
#include <vector>

#include "codegen/compiler.h"

namespace wkvc::test {

inline Config config_of_pass(const std::string& pass, const std::string& mma, const std::string& io, int key_dim = 0,
                             int value_dim = 0) {
  return {.key_dim = key_dim, .value_dim = value_dim, .io = io, .mma = mma, .pass = pass};
}

// Returns a configuration for each pair of dtypes that tests go through.
inline std::vector<Config> dtypes_of_pass(const std::string& pass) {
  const auto of = [&](const char* mma, const char* io) { return config_of_pass(pass, mma, io); };
  return {of("f16", "bf16"), of("bf16", "bf16"), of("f32", "f32"),   of("f16", "f16"),
          of("f16", "f32"),  of("f32", "bf16"),  of("bf16x3", "f32")};
}

}  // namespace wkvc::test
