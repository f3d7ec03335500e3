// Errors are part of the interface: tests say which type and what the text has to name.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/error.h"

namespace wkvc {

template <class Error = UserError, class Action>
void expect_error(const Action& action, const std::vector<std::string>& parts) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown, expected an error that says: " << ::testing::PrintToString(parts);
  } catch (const Error& error) {
    for (const std::string& part : parts) EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr(part));
  }
}

}  // namespace wkvc
