#include "runtime/base/strict_json.h"

#include <set>
#include <string>
#include <vector>

#include "runtime/base/escape.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

using nlohmann::json;

// Remembers the keys of every object that is still open.
class DuplicateKeys {
 public:
  void see(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end) open_.pop_back();
    if (event != json::parse_event_t::key) return;
    const auto key = parsed.get<std::string>();
    if (!open_.back().insert(key).second && first_.empty()) first_ = fmt::format("\"{}\"", escaped_name(key));
  }
  const std::string& first() const { return first_; }  // quoted; empty when there is none

 private:
  std::vector<std::set<std::string>> open_;
  std::string first_;
};

}  // namespace

json parse_object(std::string_view text, std::string_view what) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    user_error("{} is empty, expected a JSON object", what);
  DuplicateKeys duplicates;
  json result;
  try {
    result = json::parse(text, [&](int, json::parse_event_t event, json& parsed) {
      duplicates.see(event, parsed);
      return true;
    });
  } catch (const json::exception& error) {
    user_error("{} is not valid JSON: {}", what, error.what());
  }
  if (!duplicates.first().empty()) user_error("{} has the key {} twice: keep one of them", what, duplicates.first());
  if (!result.is_object()) user_error("{} is a JSON {}, expected an object", what, result.type_name());
  return result;
}

}  // namespace wkvc
