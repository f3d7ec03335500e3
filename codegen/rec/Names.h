// Which names a recurrence and its tensors and values may have: emitted C++ uses them as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wkvc::rec {

// Why `name` can't be used, or nothing.
std::optional<std::string> name_fault(std::string_view name);

}  // namespace wkvc::rec
