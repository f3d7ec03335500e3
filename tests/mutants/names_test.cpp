// The compiler and the templates know no operator by name:
//   grep -riE 'rwkv|gla|dplr|delta' codegen templates
// finds nothing but comments that cite a source, which is an address. The search is for letters anywhere in a word, as
// grep's is; a word that happens to hold them has to be reworded.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

namespace wkvc::test {
namespace {

bool cites_a_source(const std::string& line, std::size_t at) {
  const std::size_t comment = line.find("//");
  return comment < at && line.find("http", comment) != std::string::npos;
}

void expect_no_operator_in(const std::filesystem::path& path) {
  const std::regex names("rwkv|gla|dplr|delta", std::regex::icase);
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::smatch match;
    if (!std::regex_search(line, match, names)) continue;
    EXPECT_TRUE(cites_a_source(line, static_cast<std::size_t>(match.position())))
        << path << ":" << number << ": " << line;
  }
}

TEST(Names, NoOperatorInTheCompilerOrTheTemplates) {
  int files = 0;
  for (const char* folder : {"codegen", "templates"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(WKVC_SOURCE_DIR) / folder)) {
      if (!entry.is_regular_file()) continue;
      expect_no_operator_in(entry.path());
      ++files;
    }
  }
  EXPECT_GT(files, 50);
}

}  // namespace
}  // namespace wkvc::test
