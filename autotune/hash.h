// Fingerprints of texts and results: against mistakes and damage, not against malice.
#pragma once

#include <string>
#include <string_view>

namespace wkvc {

std::string hash128(std::string_view bytes);  // 128-bit XXH3, as 32 hexadecimal digits
bool is_hash128(std::string_view text);       // whether it looks like one

}  // namespace wkvc
