// The JSON of a Config in lockfiles: every field that the table of fields (codegen/config/fields.h) says is recorded,
// where the field is not at its default.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "codegen/compiler.h"

namespace wkvc {

nlohmann::ordered_json config_json(const Config& config);

// A Config with these settings and all else at its default. Throws UserError, beginning with `what` ("tune.json: entry
// 3's configuration"), for an unknown key, a wrong type, or a value that no kernel can have.
Config config_from(const nlohmann::json& object, const std::string& what);

std::string config_text(const Config& config);   // one line, equal for equal settings only: {"chunk":32,"saved":"f16"}
std::string config_label(const Config& config);  // for people: "chunk 32, saved f16"; "defaults" when nothing is set

}  // namespace wkvc
