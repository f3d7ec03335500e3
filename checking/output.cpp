#include "checking/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

#include "runtime/base/files.h"
#include "runtime/base/streams.h"
#include "runtime/error.h"

namespace wkvc {

void print_text(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void complain(const char* message) noexcept {
  try {
    std::fprintf(stderr, "wkvc: %s\n", escaped_text(message).c_str());
  } catch (const std::bad_alloc&) {
    std::fputs("wkvc: there is not enough memory for a message\n", stderr);
  }
}

void reserve_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number is this one. Output stays a failure: it is opened for reading.
    if (::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void expect_output(const std::string& output, const std::vector<std::optional<std::string>>& inputs) {
  if (is_sink(output)) return;
  for (const std::optional<std::string>& input : inputs) {
    std::error_code missing;
    if (!input || !std::filesystem::equivalent(*input, output, missing)) continue;
    user_error("--output {}: that is the file {} that is read, which it would replace; name another", output, *input);
  }
  expect_writable(output);
}

}  // namespace wkvc
