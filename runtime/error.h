// The two kinds of failure. Library code throws them and never prints, aborts or exits.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace wkvc {

// The user's mistake: says what was given, what was expected and what to do. The command line exits with 2.
class UserError : public std::runtime_error {
 public:
  // `place`: where the mistake was written, as in "file.cpp:8: ".
  explicit UserError(const std::string& message, const std::string& place = "")
      : std::runtime_error(place + message), place_size_(place.size()) {}

  std::string message() const { return what() + place_size_; }  // without the place

 private:
  std::size_t place_size_;
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
