// One case for every diagnostic of the warp dialect: the lines, and what the error says.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "codegen/ir/Text.h"
#include "codegen/warp/Warp.h"
#include "tests/expect_error.h"

namespace wkvc::test {

inline std::string error_of(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  return user_error_of([&] { parse(text, context); });
}

struct Case {
  const char* name;
  std::string lines;
  const char* error;
};

inline void PrintTo(const Case& c, std::ostream* stream) { *stream << c.name; }

inline std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }

}  // namespace wkvc::test
