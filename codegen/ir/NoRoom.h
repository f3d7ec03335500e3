// A mistake that another schedule may mend: a block has no room for what its kernel keeps.
#pragma once

#include "codegen/ir/Where.h"

namespace wkvc {

class NoRoom : public UserError {
 public:
  using UserError::UserError;
};

template <class... Args>
[[noreturn]] void no_room_at(mlir::Operation* op, fmt::format_string<Args...> text, Args&&... args) {
  throw NoRoom(fmt::format(text, std::forward<Args>(args)...), where(op));
}

}  // namespace wkvc
