// Expects a UserError and checks its message.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "runtime/error.h"

namespace wkvc::test {

// The message of the UserError that `f` throws; fails the test if it throws none.
template <class F>
std::string user_error_of(F f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected a UserError";
  return "";
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "'\n  does not contain\n'" << part << "'";
}

}  // namespace wkvc::test
