// The two kinds of failure. Library code throws them and never prints, aborts or exits.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace wkvc {

// The user's mistake: says what was given, what was expected and what to do. The command line exits with 2.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A fault of wkvc itself (a generated kernel that does not compile, a broken invariant).
class InternalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void user_error(fmt::format_string<Args...> text, Args&&... args) {
  throw UserError(fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void internal_error(fmt::format_string<Args...> text, Args&&... args) {
  throw InternalError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace wkvc
