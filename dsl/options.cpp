#include "dsl/options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/rec/Names.h"
#include "dsl/node.h"
#include "runtime/base/closest.h"
#include "runtime/base/decimal.h"

namespace wkvc {

using namespace detail;

namespace {

std::string range_text(Range range) {
  constexpr Range any;
  if (range.least == any.least && range.most == any.most) return "a number";
  if (range.least == any.least) return fmt::format("a number up to {:g}", range.most);
  if (range.most == any.most) return fmt::format("a number from {:g}", range.least);
  return fmt::format("a number from {:g} to {:g}", range.least, range.most);
}

}  // namespace

const std::string* Options::declare(OptionInfo info) {
  if (const auto fault = rec::name_fault(info.name)) error_at(info.at, "option: {}", *fault);
  if (std::ranges::find(declared_, info.name, &OptionInfo::name) != declared_.end())
    error_at(info.at, "the option '{}' is declared twice", info.name);
  const auto given = values_.find(info.name);
  if (given != values_.end()) info.value = given->second;
  declared_.push_back(std::move(info));
  return given == values_.end() ? nullptr : &given->second;
}

void Options::refuse(const OptionInfo& info, std::string_view value) const {
  user_error("{}: the option {} is '{}'; expected {}", of_, info.name, value.substr(0, 64), info.values);
}

void Options::expect(std::string_view name, bool holds, std::string_view needed) const {
  if (!holds && values_.contains(name))
    user_error("{0}: the option {1} goes with {2}: set {2}, too, or leave {1} out", of_, name, needed);
}

void Options::expect_all_declared() const {
  std::vector<std::string> known;
  for (const OptionInfo& info : declared_) known.push_back(info.name);
  for (const auto& [name, value] : values_) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string_view shown = std::string_view(name).substr(0, 64);
    if (known.empty()) user_error("{}: there is no option '{}': the recurrence declares none", of_, shown);
    user_error("{}: there is no option '{}'; known are {}{}", of_, shown, fmt::join(known, ", "),
               closest(shown, known));
  }
}

std::string Recurrence::choice(std::string_view name, std::initializer_list<std::string_view> words,
                               std::string_view meaning, At at) {
  const OptionInfo info{std::string(name), fmt::format("{}", fmt::join(words, " or ")), std::string(*words.begin()),
                        std::string(meaning), at};
  const std::string* const value = declarations_.options.declare(info);
  if (value == nullptr) return info.value;
  if (std::ranges::find(words, *value) == words.end()) declarations_.options.refuse(info, *value);
  return *value;
}

bool Recurrence::flag(std::string_view name, std::string_view meaning, At at) {
  return choice(name, {"false", "true"}, meaning, at) == "true";
}

double Recurrence::number(std::string_view name, double otherwise, Range range, std::string_view meaning, At at) {
  const OptionInfo info{std::string(name), range_text(range), fmt::format("{:g}", otherwise), std::string(meaning), at};
  const std::string* const text = declarations_.options.declare(info);
  if (text == nullptr) return otherwise;
  const auto value = decimal_from(*text);
  if (!value || *value < range.least || *value > range.most) declarations_.options.refuse(info, *text);
  return *value;
}

void Recurrence::needs(std::string_view option, bool holds, std::string_view needed) {
  declarations_.options.expect(option, holds, needed);
}

std::vector<OptionInfo> options_of(const Definition& definition, const Config& config) {
  return declarations_of(definition, config).options.declared();
}

}  // namespace wkvc
