// The recurrences that bench/curves.py measures: their formulas in the language, against float64, forward and backward.
#include <tuple>

#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

const std::string program = WKVC_BENCH_RECURRENCES;

struct Measured {
  std::string name, head, options;  // of the command; heads as curves.py measures them
};

void PrintTo(const Measured& measured, std::ostream* stream) {
  *stream << measured.name << " " << measured.head << " " << measured.options;
}

// Heads of 64 and of 128. Both passes of "unnamed" need too much shared memory at 128 with f16 operands.
std::vector<Measured> measured_recurrences() {
  std::vector<Measured> all;
  for (const char* name : {"gated_delta_net", "kda", "kda_gate5", "gla", "retnet", "unnamed"})
    for (const char* head : {"64", "128"}) all.push_back({name, head, "f16"});
  all.back().options = "bf16";
  for (const char* head : {"64,32", "128,64"}) all.push_back({"mamba2", head, "f16"});
  return all;
}

class BenchRecurrence : public CommandTest, public testing::WithParamInterface<Measured> {};

TEST_P(BenchRecurrence, ChecksForwardAndBackward) {
  const auto& [name, head, mma] = GetParam();
  std::vector<std::string> arguments{"check",  name, "--device", "cpu",    "--pass", "both",
                                     "--head", head, "--shape",  "1,37,2", "--mma",  mma};
  if (name == "mamba2") {  // whose heads share B and C
    arguments[9] = "1,37,2/1";
    arguments.insert(arguments.end(), {"--shared", "B,C"});
  }
  const Outcome outcome = finish(start(program, arguments));
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("dinitial_state"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("passed"), std::string::npos) << outcome.out;
}

std::string name_of_measured(const testing::TestParamInfo<Measured>& info) {
  return info.param.name + "_" + info.param.head.substr(0, info.param.head.find(','));
}
INSTANTIATE_TEST_SUITE_P(All, BenchRecurrence, testing::ValuesIn(measured_recurrences()), name_of_measured);

// Texts of every head and storage that curves.py asks for.
TEST_F(CommandTest, BenchRecurrencesPrintTexts) {
  for (const char* name : {"gated_delta_net", "kda", "kda_gate5", "mamba2", "gla", "retnet", "unnamed"})
    for (const char* head : {"32", "64", "128", "256"})
      for (const char* io : {"bf16", "f16", "f32"}) {
        const Outcome printed = finish(start(program, {"emit", name, "--stage", "rec", "--head", head, "--io", io}));
        ASSERT_EQ(printed.status, 0) << printed.err;
        EXPECT_NE(printed.out.find("key_dim = " + std::string(head)), std::string::npos) << printed.out;
        EXPECT_EQ(printed.out.find("xbf16>") != std::string::npos, io == std::string("bf16")) << printed.out;
      }
}

}  // namespace
}  // namespace wkvc::test
