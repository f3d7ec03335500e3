// The nests that are written by hand.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace wkvc::test {

inline std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

inline std::string text_named(const std::string& name) {
  return text_of(std::filesystem::path(WKVC_NEST_TEXTS) / (name + ".mlir"));
}

}  // namespace wkvc::test
