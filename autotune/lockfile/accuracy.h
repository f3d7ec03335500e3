// How far results are from the float64 recurrence, by result.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace wkvc {

struct Accuracy {
  double error = 0;  // ‖x − ref‖ / ‖ref‖; NaN when anything in x is not finite
  double bound = 0;  // what it may be at most
  bool operator==(const Accuracy&) const = default;
};

using Accuracies = std::map<std::string, Accuracy>;  // by result: "o", "dr"

// The result that is nearest to its bound or furthest beyond it; NaN is beyond all. end() of none.
Accuracies::const_iterator worst(const Accuracies& accuracies);

bool within_bounds(const Accuracies& accuracies);

// JSON has no NaN: it is null there.
nlohmann::ordered_json accuracies_json(const Accuracies& accuracies);

// Throws UserError, beginning with `what`.
Accuracies accuracies_from(const nlohmann::json& object, const std::string& what);

}  // namespace wkvc
