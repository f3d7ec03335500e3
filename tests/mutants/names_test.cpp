// Names in the sources. The compiler and the templates know no operator by name:
//   grep -riE 'rwkv|gla|dplr|delta' codegen templates
// finds nothing but comments that cite a source, which is an address. The search is for letters anywhere in a word, as
// grep's is; a word that happens to hold them has to be reworded.
// And no two headers of a program define classes of one name, of which the linker would take one for both.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

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

// Returns the classes that a header defines in namespaces, with these.
std::vector<std::string> classes_of(const std::filesystem::path& path) {
  const std::regex opens("^(?:inline )?namespace ([a-zA-Z_:]+) \\{.*"), closes("^\\}  // namespace.*"),
      defines("^(?:struct|class) ([A-Za-z]+)(?: final)? (?:\\{|:).*");
  std::vector<std::string> spaces, classes;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_match(line, match, opens)) spaces.push_back(match[1].str() + "::");
    if (std::regex_match(line, closes) && !spaces.empty()) spaces.pop_back();
    if (!std::regex_match(line, match, defines)) continue;
    std::string name;
    for (const std::string& space : spaces) name += space;
    classes.push_back(name + match[1].str());
  }
  return classes;
}

TEST(Names, EachClassHasOneHeader) {
  std::map<std::string, std::filesystem::path> headers;
  for (const char* folder : {"dsl", "codegen", "autotune", "runtime", "jit", "tools", "checking"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(WKVC_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".h") continue;
      for (const std::string& name : classes_of(entry.path())) {
        const auto [other, is_new] = headers.try_emplace(name, entry.path());
        EXPECT_TRUE(is_new) << name << " is in " << entry.path() << " and in " << other->second;
      }
    }
  }
  EXPECT_GT(headers.size(), 200U);
}

}  // namespace
}  // namespace wkvc::test
