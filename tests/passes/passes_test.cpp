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
