// The name that somebody may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace wkvc {

// Returns "; did you mean 'rwkv7'?" with the name that is most like `name`; nothing where none is.
std::string closest(std::string_view name, std::span<const std::string> names);

}  // namespace wkvc
