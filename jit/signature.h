// The tensors and options of a recurrence, for callers in other languages.
#pragma once

#include <string>
#include <vector>

#include "dsl/options.h"

namespace wkvc {

// Returns the name, the head and the tensors of the recurrence that a text of the rec stage holds, as JSON:
//
//   {"name": "rwkv7", "key_dim": 64, "value_dim": 64,
//    "inputs": [{"name": "r", "of": "token", "dim": "K", "dtype": "bf16"}, …],
//    "outputs": [{"name": "o", "of": "token", "dim": "V", "dtype": "bf16"}],
//    "options": [{"name": "scale", "values": "a number", "otherwise": "1", "meaning": "what outputs are multiplied
//    by"}]}
//
// "of" is "head" for parameters, and "dim" "1" for numbers. Throws UserError for other texts.
std::string signature_json(const std::string& text, const std::vector<OptionInfo>& options);

}  // namespace wkvc
