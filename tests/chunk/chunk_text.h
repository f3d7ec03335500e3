// Chunk programs as text, for tests.
#pragma once

#include <string>

namespace wkvc::test {

inline std::string header(const std::string& chunk = "16", const std::string& dims = "key_dim = 32 : i64",
                          const std::string& compute = "f16", const std::string& sram = "232448") {
  return "chunk.program \"example\" attributes {chunk = " + chunk + " : i64, compute = \"" + compute + "\", " + dims +
         ", sram_budget = " + sram + " : i64, value_dim = 48 : i64} {\n";
}

inline std::string inputs() {
  return R"(  %k = chunk.input "k" dim "K" : tensor<16x32xbf16>
  %x = chunk.input "x" dim "K" : tensor<16x32xf32>
  %v = chunk.input "v" dim "V" : tensor<16x48xf32>
  %g = chunk.input "g" dim "1" : tensor<16x1xf32>
  %u = chunk.parameter "u" dim "K" : tensor<1x32xf32>
  %S = chunk.state "S" : tensor<48x32xf32>
)";
}

inline std::string ending() {
  return R"(  chunk.update %S : tensor<48x32xf32>
  chunk.output "o" %v as "bf16" : tensor<16x48xf32>
}
)";
}

// A program over k, x, v, g, u and S with these lines among its operations. They start at line 8.
inline std::string with(const std::string& lines) { return header() + inputs() + lines + ending(); }

// The same of a backward program.
inline std::string with_backward(const std::string& lines) {
  std::string text = with(lines);
  const std::string attributes = "attributes {";
  return text.insert(text.find(attributes) + attributes.size(), "backward, ");
}

}  // namespace wkvc::test
