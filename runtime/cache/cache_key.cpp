#include "runtime/cache/cache_key.h"

#include <utility>

#include "runtime/tensor/sized_bytes.h"

namespace wkvc {

CacheKey::CacheKey(CacheLabel label) : label_(std::move(label)) {
  add("step", label_.step);
  add("operator", label_.op);
  add("configuration", label_.config);
  add("architecture", label_.arch);
  add("tool", label_.tool);
  add("wkvc", label_.wkvc);
}

void CacheKey::add(std::string_view what, std::string_view text) {
  append_sized(text_, what);
  append_sized(text_, text);
}

EntryId CacheKey::id() const { return {.name = hash128(text_, 0), .check = hash128(text_, 1)}; }

}  // namespace wkvc
