// Text from outside as a terminal may show it: what would move the cursor, change colours or begin a line is spelled
// out, "\x1b[31m" and "\n", and bytes that are no UTF-8 likewise.
#pragma once

#include <string>
#include <string_view>

namespace wkvc {

std::string escaped_name(std::string_view name);  // one line
std::string escaped_text(std::string_view text);  // line feeds and tabs stay

}  // namespace wkvc
