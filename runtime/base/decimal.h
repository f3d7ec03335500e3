// Decimal numbers in texts, whatever the locale is. Internal to wkvc.
#pragma once

#include <optional>
#include <string_view>

namespace wkvc {

// Returns the number that a text begins with, and removes it from the text; nothing where there is none. The decimal
// point is a point, whatever the process's locale says.
std::optional<double> take_decimal(std::string_view& text);

// Returns the finite number that all of `text` is.
std::optional<double> decimal_from(std::string_view text);

}  // namespace wkvc
