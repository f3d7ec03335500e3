// Recurrences as text, for tests.
#pragma once

#include <string>

namespace wkvc::test {

inline std::string header(const std::string& name = "decay") {
  return "rec.recurrence @" + name +
         " attributes {key_dim = 64, value_dim = 32, compute = \"f16\", sram_budget = 232448} {\n";
}

inline std::string inputs() {
  return R"(  %k = rec.input "k" dim K : tensor<64xbf16>
  %v = rec.input "v" dim V : tensor<32xbf16>
  %x = rec.input "x" dim K : tensor<64xf32>
  %y = rec.input "y" dim V : tensor<32xf32>
  %g = rec.input "g" dim 1 : tensor<1xf32>
)";
}

inline std::string state() { return "  %S = rec.state \"S\" : tensor<32x64xf32>\n"; }

inline std::string ending() {
  return R"(  rec.update %S, %S : tensor<32x64xf32>
  rec.output "o" %y dim V : tensor<32xf32> as bf16
}
)";
}

// A recurrence over k, v, x, y, g and S with these lines among its operations. They start at line 8.
inline std::string with(const std::string& lines) { return header() + inputs() + state() + lines + ending(); }

}  // namespace wkvc::test
