#include "autotune/lockfile/config_json.h"

#include <algorithm>
#include <utility>

#include "codegen/config/config.h"
#include "runtime/base/json_fields.h"

namespace wkvc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Calls f(option, field) for every field that a lockfile has.
template <class F>
void for_each_recorded(const F& f) {
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    if (option.recorded != Recorded::no) f(option, field);
  });
}

void read(const JsonFields& fields, const ConfigOption& option, const ConfigField& field, int& value) {
  const json& given = fields.at(field.name);
  if (!given.is_number_integer() || !std::in_range<int>(given.get<std::int64_t>()) ||
      !std::get<Numbers>(option.values).hold(given.get<int>()))
    fields.wrong(field.name, given, fmt::format("an integer: {}", std::get<Numbers>(option.values).expected));
  value = given.get<int>();
}

void read(const JsonFields& fields, const ConfigOption& option, const ConfigField& field, std::string& value) {
  const Words& words = std::get<Words>(option.values);
  value = fields.text(field.name);
  if (std::ranges::find(words.known, value) == words.known.end())
    fields.wrong(field.name, fields.at(field.name), fmt::format("{}", fmt::join(words.known, " or ")));
}

void read(const JsonFields& fields, const ConfigOption& option, const ConfigField& field,
          std::vector<std::string>& values) {
  const json& given = fields.at(field.name);
  const bool are_texts = given.is_array() && std::ranges::all_of(given, [](const json& it) { return it.is_string(); });
  if (!are_texts) fields.wrong(field.name, given, values_text(option));
  values = given.get<std::vector<std::string>>();
}

void check(const JsonFields& fields, const Config& config) {
  if (config.chunk != 0 && config.save_every % config.chunk != 0) {
    fields.wrong("save_every", fields.at("save_every"), fmt::format("a multiple of the chunk, {}", config.chunk));
  }
}

}  // namespace

ordered_json config_json(const Config& config) {
  ordered_json object = ordered_json::object();
  for_each_recorded([&](const ConfigOption&, const ConfigField& field) {
    if (is_set(field, config)) std::visit([&](auto member) { object[field.name] = config.*member; }, field.member);
  });
  return object;
}

Config config_from(const json& object, const std::string& what) {
  std::vector<std::string_view> keys;
  for_each_recorded([&](const ConfigOption&, const ConfigField& field) { keys.emplace_back(field.name); });
  const JsonFields fields(object, what, keys);
  Config config;
  for_each_recorded([&](const ConfigOption& option, const ConfigField& field) {
    if (!fields.has(field.name)) return;
    if (const auto* number = std::get_if<int Config::*>(&field.member)) read(fields, option, field, config.**number);
    if (const auto* word = std::get_if<std::string Config::*>(&field.member))
      read(fields, option, field, config.**word);
    if (const auto* words = std::get_if<std::vector<std::string> Config::*>(&field.member))
      read(fields, option, field, config.**words);
  });
  check(fields, config);
  return config;
}

std::string config_text(const Config& config) {
  return config_json(config).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string config_label(const Config& config) {
  Config recorded;
  for_each_recorded([&](const ConfigOption&, const ConfigField& field) { copy_field(field, config, recorded); });
  std::string label = config_key(recorded);
  std::ranges::replace(label, '_', ' ');
  return label.empty() ? "defaults" : label;
}

}  // namespace wkvc
