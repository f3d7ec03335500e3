// JSON as people like to read and compare it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace wkvc {

// Plain values that fit into 100 characters are on one line, else every member has a line of its own, so that a change
// of one value changes one line. The same object is always the same text; it ends with a newline.
std::string readable_json(const nlohmann::ordered_json& object);

}  // namespace wkvc
