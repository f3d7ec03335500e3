#include "checking/streams.h"

#include <unistd.h>

#include <cstdio>

#include "runtime/base/escape.h"
#include "runtime/base/streams.h"
#include "runtime/error.h"

namespace wkvc {

void print_beside(const std::string& output, const std::string& text) {
  const std::string escaped = escaped_text(text);
  std::fwrite(escaped.data(), 1, escaped.size(), is_standard_output(output) ? stderr : stdout);
}

void expect_no_terminal(const std::string& output, std::string_view what) {
  if (!is_standard_output(output) || ::isatty(STDOUT_FILENO) == 0) return;
  user_error("{} no text for a terminal; name a file with --output", what);
}

void expect_folder(const std::string& output) {
  if (is_sink(output)) user_error("--output {}: several files are written; name a folder", output);
}

void expect_file(std::string_view option, const std::string& path, std::string_view why) {
  if (is_sink(path)) user_error("{} {}: {}; name a file", option, path, why);
}

void expect_one_reader(const std::optional<std::string>& source, const std::optional<std::string>& input) {
  if (source != "-" || input != "-") return;
  user_error("--source - with --input -: the standard input can be read once; name a file or a pipe for one of them");
}

}  // namespace wkvc
