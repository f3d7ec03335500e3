// What is checked of a text before MLIR's parser sees it, because the parser does not survive it: it recurses into
// brackets without limit, and where a value is used before the region that defines it fails to parse, it goes on to
// touch the value after freeing it.
#pragma once

#include <string_view>

namespace wkvc {

// Throws UserError, with the line, for brackets nested too deep and for values used before or outside of the block
// that defines them. `file`: what the text is called in messages.
void check_parsable(std::string_view text, std::string_view file = {});

}  // namespace wkvc
