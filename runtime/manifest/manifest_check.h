// A manifest beside the kernel that it is of. Internal to the runtime.
#pragma once

#include <string_view>

#include "runtime/manifest/manifest.h"

namespace wkvc {

// Throws UserError where `source`, a text that wkvc emitted, says something else of the kernel's sizes than the
// manifest: in the header comment, or in the kernel itself. A text of another form is not looked into.
void check_against_text(const Manifest& manifest, std::string_view source);

}  // namespace wkvc
