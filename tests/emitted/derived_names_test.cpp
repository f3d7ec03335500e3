// Values that nobody named are called after their operations and operands.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codegen/ir/DerivedNames.h"

namespace wkvc::test {
namespace {

using Names = std::vector<std::string>;

TEST(DerivedNames, SayTheOperation) {
  EXPECT_EQ(derived_name("tril", Names{"dRB"}), "dRB_lower");
  EXPECT_EQ(derived_name("level_pairs", Names{"dRB"}, 8), "dRB_level8");
  EXPECT_EQ(derived_name("sigmoid", Names{"w_f32"}), "sigmoid_w");
  EXPECT_EQ(derived_name("mul", Names{"dS", "e_last"}), "dS_e_last");
  EXPECT_EQ(derived_name("sub", Names{"L", "L_middle"}), "L_minus_L_middle");
}

TEST(DerivedNames, LeaveOutWhatHasNone) {
  EXPECT_EQ(derived_name("add", Names{"", "dk"}), "dk");
  EXPECT_EQ(derived_name("add", Names{"", ""}), "");
  EXPECT_EQ(derived_name("exp2", Names{}), "");
}

TEST(DerivedNames, AreShort) {
  EXPECT_EQ(derived_name("add", Names{"gradient_of_the_query", "gradient_of_the_key"}), "gradient_of_the_query_part");
}

TEST(DerivedNames, SayNoStorage) {
  EXPECT_EQ(without_storage("dU0_f16_shared"), "dU0");
  EXPECT_EQ(without_storage("k_f32"), "k");
  EXPECT_EQ(without_storage("_f16"), "_f16");
}

}  // namespace
}  // namespace wkvc::test
