// Writes the emitted texts of all cases into a folder, or renews their committed hashes.
#include <fmt/format.h>

#include <cctype>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>

#include "tests/emitted/hashes.h"

namespace {

// A file's name from a case's: what is no letter, digit or sign of a number becomes "_".
std::string file_name(std::string name) {
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '.' && letter != '-') letter = '_';
  return name + ".cu";
}

void write_texts(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  wkvc::test::for_each_text(wkvc::test::emitted_cases(), [&](const auto& of, const std::string& text) {
    std::ofstream(folder / file_name(of.name)) << text;
  });
}

int run(std::span<const char* const> arguments) {
  const std::string command = arguments.size() > 1 ? arguments[1] : "";
  if (command == "write" && arguments.size() == 3) {
    write_texts(arguments[2]);
    return 0;
  }
  if (command == "renew" && arguments.size() == 2) {
    wkvc::test::write_hashes(WKVC_EMITTED_HASHES, wkvc::test::hashes_of(wkvc::test::emitted_cases()));
    return 0;
  }
  fmt::print(stderr, "usage: emitted_texts write FOLDER, or emitted_texts renew\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::span<const char* const>(argv, static_cast<std::size_t>(argc)));
  } catch (const std::exception& error) {
    fmt::print(stderr, "emitted_texts: {}\n", error.what());
    return 1;
  }
}
