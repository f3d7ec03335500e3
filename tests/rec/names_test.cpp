#include "codegen/rec/Names.h"

#include <gtest/gtest.h>

#include <string>

namespace wkvc::rec {
namespace {

TEST(Names, Usable) {
  for (const char* name : {"r", "log_w", "S", "k2", "a_b", "R", "state", "o"})
    EXPECT_EQ(name_fault(name), std::nullopt) << name;
  EXPECT_EQ(name_fault(std::string(64, 'x')), std::nullopt);
}

TEST(Names, Unusable) {
  const std::string names[] = {"",
                               "2k",
                               "a-b",
                               "a b",
                               "a\n",
                               "){",
                               "*/",
                               "é",
                               "do",
                               "int",
                               "thread_local",
                               "_k",
                               "k__2",
                               "threadIdx",
                               "wkvc",
                               "NULL",
                               "main",
                               "final_state",
                               "blockDim",
                               "cu_seqlens",
                               "state_indices",
                               "backward_summary_refused",
                               std::string(65, 'x'),
                               std::string("a\0b", 3)};
  for (const std::string& name : names) EXPECT_NE(name_fault(name), std::nullopt) << name;
}

TEST(Names, FaultsFitOnOneLine) {
  const std::string fault = *name_fault(std::string("a\n\x01") + std::string(1000, 'x'));
  EXPECT_EQ(fault.find('\n'), std::string::npos);
  EXPECT_NE(fault.find("\\x0a\\x01"), std::string::npos);
  EXPECT_LT(fault.size(), 300U);
}

}  // namespace
}  // namespace wkvc::rec
