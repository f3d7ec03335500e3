// JSON that came from outside. For the inside of libraries: their users see no JSON library.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace wkvc {

// Parses one JSON object; throws UserError, beginning with `what` ("the header of x.safetensors"), when the text is
// malformed, is no object, or names a key twice (which parsers otherwise resolve silently, each in its own way).
nlohmann::json parse_object(std::string_view text, std::string_view what);

}  // namespace wkvc
