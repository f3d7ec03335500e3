// wkvc explain --schedule: the nest of roles and loops.
#include <sstream>

#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

using ScheduleNest = CommandTest;

// Each part follows the one before.
void expect_in_order(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t at = 0;
  for (const std::string& part : parts) {
    const std::size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " is not where it is expected in\n" << text;
    at = found + part.size();
  }
}

TEST_F(ScheduleNest, TellsRolesAndLoops) {
  const Outcome ahead =
      wkvc({"explain", "rwkv7", "--schedule", "--teams", "2", "--rounds", "2", "--scales", "guarded"});
  ASSERT_EQ(ahead.status, 0) << ahead.err;
  expect_in_order(ahead.out,
                  {"rwkv7_forward: grid(blocks = ", "prepare(teams = 2, warps = 2)", "numerics(scales = guarded)",
                   "4 warps with 16 rows of the state each, and 2 teams of 2 warps of their own a step ahead",
                   "without scales", "role prepare: warps 4 to 7", "for each step of 2 chunks:",
                   "each team, for its chunk:", "copies ", "hands its slot over", "role state: warps 0 to 3",
                   "for each step of 2 chunks, carrying S", "for each chunk of the step, carrying S",
                   "waits until the chunk is prepared", "computes ", "gives final_state", "rwkv7_forward_scaled: "});
}

TEST_F(ScheduleNest, TellsBothWaysOfABackwardKernel) {
  const Outcome both = wkvc({"explain", "rwkv7", "--schedule", "--pass", "backward", "--save-every", "64"});
  ASSERT_EQ(both.status, 0) << both.err;
  expect_in_order(both.out, {"rwkv7_backward: ", "checkpoint(every = 4)", "for each group of 4 chunks from the last",
                             "for each chunk of the group, carrying S_before", "saves the state",
                             "for each chunk of the group from the last", "gives "});
}

// Every heading has something under it: what one warp leaves for others, in scaled kernels, too.
TEST_F(ScheduleNest, HasNoEmptyParts) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--teams", "2"},
        {"--teams", "2", "--scales", "always"},
        {"--pass", "both", "--teams", "2,2", "--save-every", "32", "--scales", "always"}}) {
    std::vector<std::string> arguments{"explain", "rwkv7", "--schedule"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome nest = wkvc(arguments);
    ASSERT_EQ(nest.status, 0) << nest.err;
    std::istringstream lines(nest.out);
    std::size_t heading = 0;  // blanks before the one above, and 1; 0: none is above
    for (std::string line; std::getline(lines, line);) {
      const std::size_t depth = line.find_first_not_of(' ') + 1;
      EXPECT_TRUE(heading == 0 || depth > heading) << "nothing is under the heading above '" << line << "' in\n"
                                                   << nest.out;
      heading = line.ends_with(':') && !line.starts_with("rwkv7") ? depth : 0;
    }
    EXPECT_EQ(heading, 0U);
  }
}

TEST_F(ScheduleNest, IsTakenFromTexts) {
  const Outcome printed = wkvc({"emit", "rwkv6", "--stage", "chunk", "--segments", "4", "--teams", "2"});
  ASSERT_EQ(printed.status, 0) << printed.err;
  EXPECT_NE(printed.out.find("schedule = #wkvc.schedule<grid(segments = 4), prepare(teams = 2)>"), std::string::npos)
      << printed.out.substr(0, 500);
  const Outcome nest = wkvc({"explain", "--schedule", "--source", file("step.mlir", printed.out)});
  ASSERT_EQ(nest.status, 0) << nest.err;
  expect_in_order(nest.out, {"rwkv6_forward_summary", "grid(segments = 4", "rwkv6_forward: grid(segments = 4"});
}

TEST_F(ScheduleNest, RefusesWhatHasNone) {
  const std::string cuda = file("step.cu", wkvc({"emit", "rwkv7", "--stage", "cuda"}).out);
  expect_mistake({"explain", "--schedule", "--source", cuda}, "does not say its schedule");
  expect_mistake({"explain", "rwkv7", "--schedule", "--json"}, "leave --json out");
}

// An order for memory in a text is followed, or refused with what there is.
TEST_F(ScheduleNest, FollowsOrdersForMemory) {
  std::string text = wkvc({"emit", "rwkv7", "--stage", "chunk", "--pass", "backward"}).out;
  const std::string part = "checkpoint(every = 4)";
  ASSERT_NE(text.find(part), std::string::npos);
  const auto ordered = [&](const std::string& memory) {
    std::string edited = text;
    for (std::size_t at = 0; (at = edited.find(part, at)) != std::string::npos; at += part.size())
      edited.insert(at + part.size(), ", memory(" + memory + ")");
    return file("ordered.mlir", edited);
  };
  const Outcome few = wkvc({"emit", "--source", ordered("keep = contractions, prefetch = inputs"), "--stage", "warp"});
  EXPECT_NE(few.out.find("memory(keep = contractions, prefetch = inputs)"), std::string::npos) << few.err;
  expect_mistake({"emit", "--source", ordered("prefetch = early"), "--stage", "warp"}, "and prefetch none, inputs");
}

// A schedule that no option says: teams of one warp each, where --rounds 2 gives them two.
TEST_F(ScheduleNest, MayBeOneThatNoOptionSays) {
  std::string text = wkvc({"emit", "rwkv7", "--stage", "chunk", "--teams", "2", "--rounds", "2"}).out;
  const std::string part = "prepare(teams = 2, warps = 2)";
  ASSERT_NE(text.find(part), std::string::npos) << text.substr(0, 500);
  text.replace(text.find(part), part.size(), "prepare(teams = 2, warps = 1)");
  const std::string source = file("one_warp.mlir", text);
  const Outcome checked = wkvc({"check", "--source", source, "--device", "cpu", "--shape", "1,40,1"});
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  const std::string blocks = edited(text, "prepare(teams = 2, warps = 1)", "prepare(teams = 2)");
  expect_mistake({"emit", "--source",
                  file("cluster.mlir",
                       edited(blocks, "schedule = #wkvc.schedule<", "schedule = #wkvc.schedule<grid(cluster = 2), ")),
                  "--stage", "cuda"},
                 "grid(cluster = 2): blocks share what teams prepare a round ahead: give prepare(warps = N)");
  const std::string placed = wkvc({"emit", "rwkv7", "--stage", "placed", "--teams", "2"}).out;
  expect_mistake({"emit", "--source", file("placed.mlir", edited(placed, "teams = 2", "teams = 3")), "--stage", "cuda"},
                 "prepare(teams = 3): the forward kernel of 'rwkv7' has 4 warps; expected a number that divides them");
  text.replace(text.find("warps = 1)"), 10, "warps = 31)");
  expect_mistake({"emit", "--source", file("many.mlir", text), "--stage", "cuda"}, "a block has at most 32");
}

}  // namespace
}  // namespace wkvc::test
