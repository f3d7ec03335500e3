// How tightly operators of C++ bind.
#pragma once

#include <string>

namespace wkvc {

enum class Binding { any, sum, product, operand };

// Returns an operator's text, in parentheses where the operator binds less tightly than the surroundings ask for.
inline std::string in_parentheses(const std::string& text, Binding own, Binding around) {
  return own < around ? "(" + text + ")" : text;
}

}  // namespace wkvc
