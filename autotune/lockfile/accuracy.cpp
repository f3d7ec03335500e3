#include "autotune/lockfile/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/json_fields.h"

namespace wkvc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

double badness(const Accuracy& accuracy) {
  return std::isnan(accuracy.error) ? std::numeric_limits<double>::infinity() : accuracy.error / accuracy.bound;
}

Accuracy accuracy_from(const json& object, const std::string& what) {
  const JsonFields fields(object, what, {"error", "bound"});
  Accuracy accuracy;
  const bool finite = !fields.at("error").is_null();
  accuracy.error = finite ? fields.number("error", 0) : std::numeric_limits<double>::quiet_NaN();
  accuracy.bound = fields.number("bound", 0);
  if (accuracy.bound == 0) fields.wrong("bound", fields.at("bound"), "a number above 0");
  return accuracy;
}

}  // namespace

Accuracies::const_iterator worst(const Accuracies& accuracies) {
  return std::ranges::max_element(accuracies, {}, [](const auto& named) { return badness(named.second); });
}

bool within_bounds(const Accuracies& accuracies) {
  return std::ranges::all_of(accuracies, [](const auto& named) { return named.second.error <= named.second.bound; });
}

ordered_json accuracies_json(const Accuracies& accuracies) {
  ordered_json object = ordered_json::object();
  for (const auto& [result, accuracy] : accuracies) {
    object[result] = {{"error", accuracy.error}, {"bound", accuracy.bound}};
  }
  return object;
}

Accuracies accuracies_from(const json& object, const std::string& what) {
  if (!object.is_object()) user_error("{} are a JSON {}, expected an object", what, object.type_name());
  Accuracies accuracies;
  for (const auto& [result, accuracy] : object.items()) {
    accuracies[result] = accuracy_from(accuracy, fmt::format("{} of \"{}\"", what, result));
  }
  return accuracies;
}

}  // namespace wkvc
