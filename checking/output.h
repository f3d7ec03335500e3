// Where text, messages and results go.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/escape.h"

namespace wkvc {

// To the standard output, as it is. It does not throw where that cannot be written; main says so in the end.
void print_text(std::string_view text);

// The same of a line for people, which names from files and texts may be in.
template <class... Args>
void print(fmt::format_string<Args...> text, Args&&... args) {
  print_text(escaped_text(fmt::format(text, std::forward<Args>(args)...)));
}

// "wkvc: …" to the standard error, escaped likewise; never throws, and a standard error that cannot be written counts
// for nothing.
void complain(const char* message) noexcept;

// Whatever of the standard input, output and error is closed is opened as good for nothing, so that no file gets its
// number and the messages in it.
void reserve_standard_descriptors();

// Throws UserError where it can be told before the work that `output` cannot be written, or is one of the files that
// are read.
void expect_output(const std::string& output, const std::vector<std::optional<std::string>>& inputs);

}  // namespace wkvc
