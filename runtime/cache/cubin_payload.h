// A compiled kernel as bytes of an entry, and the part of an entry's key that every kernel has. Internal to the
// runtime.
#pragma once

#include <string>
#include <string_view>

#include "runtime/cache/cache_key.h"
#include "runtime/nvrtc/nvrtc.h"

namespace wkvc {

// The kernel's text and the templates that it includes.
void add_text(CacheKey& key, const std::string& kernel_source);

std::string packed(const CubinResult& result);
CubinResult unpacked(std::string_view bytes);  // throws InternalError for bytes that packed() did not give

}  // namespace wkvc
