#include "runtime/nvrtc/source_listing.h"

#include <fmt/format.h>

namespace wkvc {

std::string numbered(std::string_view source) {
  std::string text;
  int line = 0;
  while (!source.empty()) {
    const std::size_t end = source.find('\n');
    text += fmt::format("{:5} | {}\n", ++line, source.substr(0, end));
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
  }
  return text;
}

}  // namespace wkvc
