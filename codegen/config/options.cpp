#include "codegen/config/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "codegen/config/config.h"
#include "runtime/error.h"
#include "runtime/tensor/checked.h"

namespace wkvc {
namespace {

template <class Integer>
std::optional<Integer> whole_number(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t comma = 0; (comma = text.find(',')) != std::string_view::npos; text.remove_prefix(comma + 1)) {
    parts.push_back(text.substr(0, comma));
  }
  parts.push_back(text);
  return parts;
}

[[noreturn]] void refuse(const ConfigOption& option, std::string_view text) {
  const std::string values = values_text(option);
  if (option.second) user_error("{} {}: expected {}, each {}", option.spelling, text, option.syntax, values);
  user_error("{} {}: expected {}", option.spelling, text, values);
}

// A part of what an option was given, as the value of a field of each type; nothing where the option does not take it.
std::optional<int> value_from(const ConfigOption& option, std::string_view part, int) {
  const auto value = whole_number<int>(part);
  return value && std::get<Numbers>(option.values).hold(*value) ? value : std::nullopt;
}

std::optional<std::string> value_from(const ConfigOption& option, std::string_view part, const std::string&) {
  const auto known = std::get<Words>(option.values).known;
  return std::ranges::find(known, part) == known.end() ? std::nullopt : std::optional<std::string>(part);
}

std::optional<std::int64_t> value_from(const ConfigOption& option, std::string_view text, std::int64_t) {
  struct Unit {
    std::string_view name;
    std::int64_t bytes;
  };
  static constexpr std::array<Unit, 6> units{
      {{"", 1}, {"B", 1}, {"KB", 1000}, {"KiB", 1024}, {"MB", 1000 * 1000}, {"MiB", 1024 * 1024}}};
  const std::size_t digits = std::min(text.find_first_not_of("-0123456789"), text.size());
  std::string_view name = text.substr(digits);
  if (name.starts_with(' ')) name.remove_prefix(1);
  const auto* const unit = std::ranges::find(units, name, &Unit::name);
  const auto number = whole_number<std::int64_t>(text.substr(0, digits));
  if (!number || unit == units.end()) {
    user_error("{} {}: expected a whole number of bytes, KB, KiB, MB or MiB, such as 227KiB", option.spelling, text);
  }
  const CheckedInt bytes = checked_mul(*number, unit->bytes);
  return bytes && std::get<Numbers>(option.values).hold(*bytes) ? std::optional(*bytes) : std::nullopt;
}

std::optional<std::vector<std::string>> value_from(const ConfigOption& option, std::string_view text,
                                                   const std::vector<std::string>&) {
  std::vector<std::string> names;
  const auto* const inputs = std::get_if<InputNames>(&option.values);
  if (text == "all" && inputs != nullptr && inputs->all) return names;
  for (const std::string_view name : split(text)) {
    if (name.empty()) return std::nullopt;
    if (std::ranges::find(names, name) != names.end()) {
      user_error("{} {}: '{}' is named twice", option.spelling, text, name);
    }
    names.emplace_back(name);
  }
  if (inputs == nullptr && !std::ranges::all_of(names, is_setting)) return std::nullopt;
  return names;
}

void set_field(const ConfigOption& option, const ConfigField& field, std::string_view part, const std::string& text,
               Config& config) {
  if (option.automatic && part == "auto") return;
  std::visit(
      [&](auto member) {
        auto value = value_from(option, part, config.*member);
        if (!value) refuse(option, text);
        config.*member = *std::move(value);
      },
      field.member);
}

}  // namespace

void set_option(const ConfigOption& option, const std::string& text, Config& config) {
  const auto parts = option.second ? split(text) : std::vector<std::string_view>{text};
  if (parts.size() > 2) refuse(option, text);
  expect_pass(option, config, /*given=*/true, /*second_given=*/parts.size() == 2);
  set_field(option, option.field, parts.front(), text, config);
  if (option.second && (option.of != OfKernels::each || config.pass != "forward")) {
    set_field(option, *option.second, parts.back(), text, config);
  }
}

ConfigOption heads_option() {
  ConfigOption option = config_option("--head");
  option.spelling = "--heads";
  return option;
}

std::int64_t parse_sequence_count(const std::string& text) {
  const auto sequences = whole_number<std::int64_t>(text);
  if (!sequences || *sequences < 1) user_error("--sequences {}: expected a whole number from 1 to 2^63 - 1", text);
  return *sequences;
}

LaunchSize parse_shape(const std::string& text, std::int64_t least, std::string_view option) {
  std::array<std::int64_t, 3> sizes{};
  const auto parts = split(text);
  if (parts.size() != sizes.size())
    user_error("{} {}: expected batch, tokens and heads, such as 1,100,2", option, text);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = whole_number<std::int64_t>(parts[i]);
    if (!size || *size < least) {
      user_error("{} {}: '{}' is not a size from {} to 2^63 - 1", option, text, parts[i], least);
    }
    sizes[i] = *size;
  }
  if (!checked_mul(checked_mul(sizes[0], sizes[1]), sizes[2])) {
    user_error("{} {}: batch x tokens x heads exceeds 63 bits", option, text);
  }
  return {sizes[0], sizes[1], sizes[2]};
}

std::uint64_t parse_seed(const std::string& text) {
  const auto seed = whole_number<std::uint64_t>(text);
  if (!seed) user_error("--seed {}: expected a whole number from 0 to 2^64 - 1", text);
  return *seed;
}

std::optional<std::string>& ConfigOptions::operator[](std::string_view spelling) {
  return given_[config_option(spelling).spelling];
}

const std::optional<std::string>& ConfigOptions::operator[](std::string_view spelling) const {
  static const std::optional<std::string> none;
  const auto found = given_.find(config_option(spelling).spelling);
  return found == given_.end() ? none : found->second;
}

void ConfigOptions::add_to(CLI::App& command) {
  CLI::App* group = command.add_option_group(
      "Configuration", "In N[,M], N is of the forward kernel and M of the backward kernel; without M, N is of both");
  for (const ConfigOption& option : config_options()) {
    std::string text = fmt::format("{}: {}. Without: {}", values_text(option), option.meaning, option.otherwise);
    std::erase(text, '`');
    group->add_option(option.spelling, (*this)[option.spelling], text)->type_name(option.syntax);
  }
}

Config ConfigOptions::parse(const std::string& default_pass) const {
  Config config;
  config.pass = default_pass;
  for (const ConfigOption& option : config_options()) {
    if (const auto& text = (*this)[option.spelling]) set_option(option, *text, config);
  }
  check_fields(config);
  return config;
}

ConfigOptions ConfigOptions::of_pass(const std::string& pass) const {
  ConfigOptions options = *this;
  options["--pass"] = pass;
  if (pass != "forward") return options;
  for (const ConfigOption& option : config_options()) {
    auto& text = options[option.spelling];
    if (option.of == OfKernels::backward) text.reset();
    if (option.of == OfKernels::each && text) text->resize(std::min(text->find(','), text->size()));
  }
  return options;
}

void SubjectOptions::add_to(CLI::App& command, bool with_source) {
  CLI::Option* name = command.add_option("op", op, "Operator, see wkvc list")->type_name("OP");
  if (with_source) {
    command
        .add_option("--source", source,
                    "Text of a stage (rec, chunk, placed, warp or cuda), as wkvc emit prints it; - is the standard "
                    "input")
        ->type_name("FILE");
  } else {
    name->required();
  }
}

}  // namespace wkvc
