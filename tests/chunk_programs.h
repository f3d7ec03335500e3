// The chunk programs of a text.
#pragma once

#include <string>
#include <vector>

namespace wkvc::test {

// Returns the programs in their order.
inline std::vector<std::string> programs_in(const std::string& text) {
  std::vector<std::string> programs;
  for (std::size_t at = text.find("chunk.program"); at != std::string::npos;) {
    const std::size_t next = text.find("chunk.program", at + 1);
    programs.push_back(text.substr(at, next - at));
    at = next;
  }
  return programs;
}

// Returns whether the program has no scales, and refuses what needs them.
inline bool is_plain(const std::string& program) { return program.find("plain = ") < program.find('\n'); }

}  // namespace wkvc::test
