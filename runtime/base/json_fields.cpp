#include "runtime/base/json_fields.h"

#include <utility>

#include "runtime/base/escape.h"
#include "runtime/base/names.h"

namespace wkvc {

using nlohmann::json;

JsonFields::JsonFields(const json& object, std::string what, const std::vector<std::string_view>& keys)
    : object_(object), what_(std::move(what)) {
  if (!object.is_object()) user_error("{} is a JSON {}, expected an object", what_, object.type_name());
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      user_error("{} has the unknown key \"{}\": the keys are {}", what_, escaped_name(key), fmt::join(keys, ", "));
    }
  }
}

std::string JsonFields::text(const char* key) const {
  const json& value = at(key);
  if (!value.is_string()) wrong(key, value, "a string");
  return value.get<std::string>();
}

std::string JsonFields::identifier(const char* key) const {
  std::string value = text(key);
  if (!is_identifier(value)) {
    user_error("{}: \"{}\" is \"{}\", expected a C identifier (letters, digits and _, no digit first)", what_, key,
               escaped_name(value));
  }
  return value;
}

std::int64_t JsonFields::integer(const char* key, std::int64_t low, std::int64_t high) const {
  const json& value = at(key);
  const std::string expected = fmt::format("an integer from {} to {}", low, high);
  if (!value.is_number_integer()) wrong(key, value, expected);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(high)) {
    wrong(key, value, expected);
  }
  const auto result = value.get<std::int64_t>();
  if (result < low || result > high) wrong(key, value, expected);
  return result;
}

double JsonFields::number(const char* key, double low, double high) const {
  const json& value = at(key);
  const std::string expected = fmt::format("a number from {} to {}", low, high);
  if (!value.is_number()) wrong(key, value, expected);
  const auto result = value.get<double>();
  if (!(low <= result && result <= high)) wrong(key, value, expected);  // NaN neither
  return result;
}

const json& JsonFields::list(const char* key) const {
  const json& value = at(key);
  if (!value.is_array() || value.empty()) wrong(key, value, "a list that is not empty");
  return value;
}

const json& JsonFields::at(const char* key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) user_error("{} lacks the key \"{}\"", what_, key);
  return *found;
}

void JsonFields::wrong(const char* key, const json& value, std::string_view expected) const {
  user_error("{}: \"{}\" is {}, expected {}", what_, key, value.dump(), expected);
}

}  // namespace wkvc
