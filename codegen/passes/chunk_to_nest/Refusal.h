// Messages for programs that no nest is built of.
#pragma once

#include <fmt/format.h>

#include "codegen/ir/Where.h"

namespace wkvc {

// Throws UserError at the line of an operation: `text` is what the form takes, or what is given and expected.
template <class... Args>
[[noreturn]] void refuse_form(mlir::Operation* op, fmt::format_string<Args...> text, Args&&... args) {
  user_error_at(op, "--form warpgroups: {}: use --form strips", fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace wkvc
