#include "codegen/config/parse_mistake.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/closest.h"

namespace wkvc {
namespace {

// Returns what stands behind `mark` in a text.
std::optional<std::string> behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(at + mark.size()));
}

// Returns the long names of all options, those in groups of the command too.
std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    if (!option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
  for (const CLI::App* group : command.get_subcommands([](const CLI::App*) { return true; }))
    std::ranges::move(options_of(*group), std::back_inserter(names));
  return names;
}

std::string unexpected_text(const CLI::App& command) {
  const std::vector<std::string> left = command.remaining();
  const auto option = std::ranges::find_if(left, [](const std::string& text) { return text.starts_with('-'); });
  if (option == left.end()) return fmt::format("'{}' is one argument too many", left.empty() ? "" : left.front());
  const std::string name = option->substr(0, option->find('='));
  return fmt::format("there is no option '{}'{}", name, closest(name, options_of(command)));
}

}  // namespace

std::string mistake_text(const CLI::ParseError& error, const CLI::App& app) {
  std::string text = error.what();
  const auto parsed = app.get_subcommands();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return unexpected_text(parsed.empty() ? app : *parsed.front());
  if (const auto what = behind(text, "Could not convert: ")) {
    const std::size_t equals = what->find(" = ");
    if (equals != std::string::npos)
      return fmt::format("{} {}: expected a number", what->substr(0, equals), what->substr(equals + 3));
  }
  const std::string option = text.substr(0, text.find(':'));
  if (const auto times = behind(text, ": At Most 1 required but received "))
    return fmt::format("{} was given {} times; expected once", option, *times);
  return text;
}

}  // namespace wkvc
