// Contractions that take f32 operands because nothing bounds one of them, and the declaration that would spare them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/compiler.h"

namespace wkvc {

struct MissingRange {
  struct Input {
    std::string name, where;  // "file:line", empty where the source has no lines
  };
  std::vector<std::string> contractions;  // what they make, by name
  std::vector<std::string> operands;      // that have neither a bound nor a scale, by name or as "k·beta"
  std::vector<Input> inputs;              // whose ranges spare contractions, once declared; none: no input's range does
};

// What a recurrence with f16 operands leaves open; nothing if none of its contractions goes up to f32. Of a text behind
// the stage rec it tells no inputs. Throws UserError as lower_to does.
std::optional<MissingRange> missing_range(const Source& source, const Config& config);

// A sentence: what is slow, why, and what to declare where.
std::string text_of(const MissingRange& missing);

}  // namespace wkvc
