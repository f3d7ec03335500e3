// Mistakes on a command line that CLI11 finds, in words of ours.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace wkvc {

// Returns what was given and what was expected. `app` has parsed the command line, up to the mistake.
std::string mistake_text(const CLI::ParseError& error, const CLI::App& app);

}  // namespace wkvc
