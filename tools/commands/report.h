// JSON for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace wkvc {

// An object as indented text: nested objects below their names, arrays of objects as tables.
std::string readable(const nlohmann::ordered_json& object);

}  // namespace wkvc
