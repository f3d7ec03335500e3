#include "runtime/version.h"

namespace wkvc {

std::string_view wkvc_version() { return WKVC_VERSION; }

}  // namespace wkvc
