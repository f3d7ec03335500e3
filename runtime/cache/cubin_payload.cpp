#include "runtime/cache/cubin_payload.h"

#include "runtime/base/embedded.h"
#include "runtime/error.h"
#include "runtime/tensor/sized_bytes.h"

namespace wkvc {

void add_text(CacheKey& key, const std::string& kernel_source) {
  for (const EmbeddedHeader& header : embedded_headers()) key.add(header.name, header.text);
  key.add("source", kernel_source);
}

std::string packed(const CubinResult& result) {
  std::string bytes;
  append_sized(bytes, {result.cubin.data(), result.cubin.size()});
  append_sized(bytes, result.log);
  return bytes;
}

CubinResult unpacked(std::string_view bytes) {
  const auto cubin = take_sized(bytes), log = take_sized(bytes);
  if (!cubin || !log) internal_error("a cached cubin is not what was put into the cache");
  return {.cubin = {cubin->begin(), cubin->end()}, .log = std::string(*log)};
}

}  // namespace wkvc
