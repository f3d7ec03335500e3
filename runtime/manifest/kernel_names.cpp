#include "runtime/manifest/kernel_names.h"

#include <algorithm>
#include <set>

#include "runtime/error.h"

namespace wkvc {
namespace {

bool is_of_word(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

void add_words(std::string_view line, std::set<std::string_view>& words) {
  while (!line.empty()) {
    std::size_t length = 0;
    while (length < line.size() && is_of_word(line[length])) ++length;
    if (length > 0) words.insert(line.substr(0, length));
    line.remove_prefix(length + (length < line.size() ? 1 : 0));
  }
}

// The words of a text before the comments of its lines.
std::set<std::string_view> words_of(std::string_view source) {
  std::set<std::string_view> words;
  while (!source.empty()) {
    const std::string_view line = source.substr(0, source.find('\n'));
    source.remove_prefix(std::min(line.size() + 1, source.size()));
    add_words(line.substr(0, line.find("//")), words);
  }
  return words;
}

}  // namespace

void refuse_kernel_name(const std::string& kernel) {
  user_error(
      "a manifest names the kernel \"{0}\", but the text has no WKVC_KERNEL({0}, …): give the manifest the name of its "
      "kernel",
      kernel);
}

void expect_kernels(std::span<const Manifest> manifests, std::string_view source) {
  if (source.find("##") != std::string_view::npos) return;
  const std::set<std::string_view> words = words_of(source);
  for (const Manifest& manifest : manifests)
    if (!words.contains(manifest.kernel)) refuse_kernel_name(manifest.kernel);
}

}  // namespace wkvc
