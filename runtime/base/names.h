// What names in texts from outside have to look like. ASCII only, whatever the locale: they become symbols, file names
// and options of compilers.
#pragma once

#include <string_view>

namespace wkvc {

bool is_identifier(std::string_view text);  // letters, digits and _, no digit first
bool is_arch(std::string_view text);        // a real architecture: "sm_90a"

}  // namespace wkvc
