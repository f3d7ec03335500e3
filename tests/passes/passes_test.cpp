// Texts written by hand, before a pass and after it: tests/passes/PASS/NAME.diff. Lines with "-" are of the text
// before, lines with "+" of the text after, lines with "#" say what the text shows. Lines with "$" are options. A text
// without "-" and "+" stays as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "codegen/config/options.h"
#include "codegen/passes.h"

namespace wkvc::test {
namespace {

using std::filesystem::path;

constexpr std::ptrdiff_t kMostLines = 34;  // of a text, before the pass or after it

std::vector<path> text_files() {
  std::vector<path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(WKVC_PASS_TEXTS))
    if (entry.path().extension() == ".diff") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string pass_of(const path& file) { return file.parent_path().filename().string(); }

// The lines of a file that are of both texts, or of the one with this mark.
std::string text_of(const path& file, char mark) {
  std::ifstream lines(file);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && (line[0] == ' ' || line[0] == mark)) text += line.substr(1) + "\n";
  return text;
}

// The configuration of the options that a file has.
Config config_of(const path& file) {
  std::ifstream lines(file);
  ConfigOptions options;
  for (std::string line; std::getline(lines, line);)
    if (std::smatch option; std::regex_match(line, option, std::regex("\\$ (--\\S+) (.*)")))
      options[option[1].str()] = option[2].str();
  return options.parse();
}

// The text as it would be printed.
std::string reprinted(const std::string& text) {
  const Source source = source_from(text);
  return lower_to(source, source.stage, {});
}

bool changes(const path& file) { return text_of(file, '-') != text_of(file, '+'); }

class PassText : public testing::TestWithParam<path> {};

TEST_P(PassText, BecomesWhatIsWritten) {
  const std::string before = text_of(GetParam(), '-'), expected = text_of(GetParam(), '+');
  EXPECT_LE(std::ranges::count(before, '\n'), kMostLines);
  EXPECT_LE(std::ranges::count(expected, '\n'), kMostLines);
  EXPECT_EQ(dump_after(source_from(before), pass_of(GetParam()), config_of(GetParam())), reprinted(expected));
}

std::string name_of(const testing::TestParamInfo<path>& info) {
  const std::string name = pass_of(info.param) + "_" + info.param.stem().string();
  return std::regex_replace(name, std::regex("[^a-z0-9]"), "_");
}
INSTANTIATE_TEST_SUITE_P(All, PassText, testing::ValuesIn(text_files()), name_of);

std::string emitted(std::string text) { return lower_to(source_from(text), Stage::cuda, {}); }

std::string text_of_hand_over(const char* file) { return text_of(path(WKVC_PASS_TEXTS) / "hand-over" / file, '+'); }
std::string handed_over() { return text_of_hand_over("two_channels.diff"); }

TEST(EmittedChannels, HaveNamesAndPlacesOfTheirOwn) {
  const std::string text = emitted(handed_over());
  for (const char* lines :
       {"//   and two slots of 496 bytes, by turns\n//   and one slot of 1008 bytes:\n",
        "  using Slots = RoundSlots<2, 496, 0, 2>;", "  const Team<Slots, 1> teams(block);",
        "  using ExtraSlots = RoundSlots<2, 1008, 0, 1, 1, 2048, 496>;",
        "  const Team<ExtraSlots, 1> extra_teams(block);\n  begin_slots<Slots>(block, 1);\n"
        "  begin_slots<ExtraSlots>(block, 1);\n",
        "  const auto team = teams.in_round(first);\n        const auto extra_team = extra_teams.in_round(first);\n",
        " = team.floats(at_row_);\n        float* const more = extra_team.floats(at_more);\n",
        "  team.claim();\n        extra_team.claim();\n", "  team.publish();\n        extra_team.publish();\n",
        "  const Slot<ExtraSlots> extra_slot(block, c - first, first);\n",
        " = slot.floats(at_row_);\n      float* const more = extra_slot.floats(at_more);\n",
        "  slot.await();\n      extra_slot.await();\n", "  slot.release();\n      extra_slot.release();\n"})
    EXPECT_THAT(text, testing::HasSubstr(lines));
}

TEST(EmittedChannels, OfTeamsHaveSlotsSideBySide) {
  const std::string text = emitted(text_of_hand_over("two_channels_of_teams.diff"));
  for (const char* lines :
       {"each with a slot of 1024 bytes\n//   and a slot of 1024 bytes:\n", "  using Slots = RoundSlots<2, 1024>;",
        "  const Team<Slots> team(block);", "  using ExtraSlots = RoundSlots<2, 1024, 0, 1, 1, 2048, 1024>;",
        "  const Team<ExtraSlots> extra_team(block);", " = team.floats(at_left);\n", " = extra_team.floats(at_more);\n",
        "  const Slot<Slots> slot(block, c - first);\n", "  const Slot<ExtraSlots> extra_slot(block, c - first);\n",
        " = slot.floats(at_left);\n", " = extra_slot.floats(at_more);\n"})
    EXPECT_THAT(text, testing::HasSubstr(lines));
}

TEST(EmittedChannels, DoNotShareNamesWithBuffers) {
  const std::string text = emitted(std::regex_replace(handed_over(), std::regex("%more"), "%extra_slot"));
  EXPECT_THAT(text, testing::HasSubstr("float* const extra_slot_2 = extra_slot.floats(at_extra_slot);"));
  EXPECT_THAT(emitted(std::regex_replace(handed_over(), std::regex("%extra"), "%0")),
              testing::HasSubstr("const Slot<ChannelSlots> channel_slot(block, c - first, first);"));
}

// The kernel of two channels, as a plain kernel or as the one for what the plain kernel refuses.
std::string guarded(const std::string& kind, const std::string& first) {
  std::string text = handed_over();
  const auto put_before = [&](const std::string& what, const std::string& more) { text.insert(text.find(what), more); };
  put_before("\"initial_state initial", "\"workspace refused f32 B,H,1,1\", ");
  put_before("{\n", "attributes {" + kind + "} ");
  put_before("%slots = ", first);
  if (kind == "refused") return std::regex_replace(text, std::regex("kernel \"f\""), "kernel \"f_scaled\"");
  put_before("\n  %extra = ", " refuses");
  put_before("warp.store_state", "warp.refuse \"refused\" %S_end : !warp.tile<16x32xf32, fragments>\n");
  return text;
}

TEST(EmittedChannels, AreLeftOutTogether) {
  const std::string text = emitted(guarded("plain", "warp.expect \"refused\" [\"g\"] gradients []\n") +
                                   guarded("refused", "warp.only_refused \"refused\"\n"));
  EXPECT_THAT(text, testing::HasSubstr(R"(
        extra_team.claim();
        if (guard.leaves_out<Slots>(first)) {
          wait_copies<0>();
          team.publish();
          extra_team.publish();
          continue;
        }
)"));
  EXPECT_THAT(text, testing::HasSubstr(R"(
      slot.await();
      extra_slot.await();
      if (guard.leaves_out<Slots>(first)) {
        slot.release();
        extra_slot.release();
        continue;
      }
)"));
}

// So that passes which take a text are those from the first one of its stage on.
TEST(Passes, TakeWhatTheOneBeforeLeaves) {
  Stage stage = Stage::rec;
  for (const Pass& pass : all_passes()) {
    EXPECT_EQ(pass.input, stage) << pass.name;
    stage = pass.output;
  }
}

TEST(PassTexts, AreOfEveryPassOverKernels) {
  for (const Pass& pass : all_passes()) {
    if (pass.input != Stage::warp || pass.output != Stage::warp) continue;
    std::vector<bool> found;
    for (const path& file : text_files())
      if (pass_of(file) == pass.name) found.push_back(changes(file));
    EXPECT_THAT(found, testing::IsSupersetOf({true, false})) << pass.name;
  }
}

}  // namespace
}  // namespace wkvc::test
