// Reads the fields of a JSON object that came from outside and names the object in every error.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/error.h"

namespace wkvc {

// Everything here throws UserError: which object, which key, what it is and what was expected.
class JsonFields {
 public:
  // `what` is how messages call the object: "the kernel manifest". `object` has to outlive this. It may have no key
  // besides `keys`.
  JsonFields(const nlohmann::json& object, std::string what, const std::vector<std::string_view>& keys);

  bool has(const char* key) const { return object_.contains(key); }
  const std::string& what() const { return what_; }

  std::string text(const char* key) const;
  std::string identifier(const char* key) const;
  std::int64_t integer(const char* key, std::int64_t low, std::int64_t high) const;
  const nlohmann::json& list(const char* key) const;  // not empty

  double number(const char* key, double low, double high = std::numeric_limits<double>::max()) const;

  // The place of the value among `known`.
  template <std::size_t N>
  std::size_t one_of(const char* key, const std::array<std::string_view, N>& known) const {
    const auto* const found = std::find(known.begin(), known.end(), text(key));
    if (found == known.end()) wrong(key, at(key), fmt::format("{}", fmt::join(known, " or ")));
    return static_cast<std::size_t>(found - known.begin());
  }

  const nlohmann::json& at(const char* key) const;

  [[noreturn]] void wrong(const char* key, const nlohmann::json& value, std::string_view expected) const;

 private:
  const nlohmann::json& object_;
  std::string what_;
};

}  // namespace wkvc
