#include "autotune/lockfile/candidate.h"

#include <array>
#include <limits>

#include "autotune/lockfile/config_json.h"
#include "autotune/lockfile/shape_class.h"
#include "runtime/base/hash.h"
#include "runtime/base/json_fields.h"

namespace wkvc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> outcomes{"timed", "rejected", "skipped"};

ordered_json use_json(const KernelUse& use) {
  return {{"shared_bytes", use.shared_bytes},
          {"registers", use.registers},
          {"spill_bytes", use.spill_bytes},
          {"blocks_per_sm", use.blocks_per_sm}};
}

KernelUse use_from(const json& object, const std::string& what) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const JsonFields fields(object, what, {"shared_bytes", "registers", "spill_bytes", "blocks_per_sm"});
  KernelUse use;
  use.shared_bytes = fields.integer("shared_bytes", 0, most);
  use.registers = static_cast<int>(fields.integer("registers", 0, most));
  use.spill_bytes = fields.integer("spill_bytes", 0, most);
  use.blocks_per_sm = static_cast<int>(fields.integer("blocks_per_sm", 0, most));
  return use;
}

std::optional<double> milliseconds(const JsonFields& fields, const char* key) {
  if (!fields.has(key)) return std::nullopt;
  return fields.number(key, 0);
}

// A time for what was timed, a reason for what was not.
void check_outcome(const JsonFields& fields, const Candidate& candidate) {
  if (candidate.outcome == Outcome::timed) {
    fields.at("ms");
  } else if (candidate.reason.empty()) {
    fields.wrong("reason", json(""), "why it was not timed");
  }
}

}  // namespace

std::string_view name_of(Outcome outcome) { return outcomes[static_cast<std::size_t>(outcome)]; }

ordered_json candidate_json(const Candidate& candidate) {
  ordered_json object{{"config", config_json(candidate.config)},
                      {"shape", size_json(candidate.size)},
                      {"status", name_of(candidate.outcome)}};
  if (!candidate.reason.empty()) object["reason"] = candidate.reason;
  if (candidate.ms) object["ms"] = *candidate.ms;
  if (candidate.predicted_ms) object["predicted_ms"] = *candidate.predicted_ms;
  if (!candidate.errors.empty()) object["errors"] = accuracies_json(candidate.errors);
  if (!candidate.outputs.empty()) object["outputs"] = candidate.outputs;
  if (candidate.use) object["use"] = use_json(*candidate.use);
  return object;
}

Candidate candidate_from(const json& object, const std::string& what) {
  const JsonFields fields(object, what,
                          {"config", "shape", "status", "reason", "ms", "predicted_ms", "errors", "outputs", "use"});
  Candidate candidate;
  candidate.config = config_from(fields.at("config"), what + "'s \"config\"");
  candidate.size = size_from_json(fields.at("shape"), what + "'s \"shape\"");
  candidate.outcome = static_cast<Outcome>(fields.one_of("status", outcomes));
  if (fields.has("reason")) candidate.reason = fields.text("reason");
  candidate.ms = milliseconds(fields, "ms");
  candidate.predicted_ms = milliseconds(fields, "predicted_ms");
  if (fields.has("errors")) candidate.errors = accuracies_from(fields.at("errors"), what + "'s \"errors\"");
  if (fields.has("outputs")) candidate.outputs = fields.text("outputs");
  if (!candidate.outputs.empty() && !is_hex_hash(candidate.outputs)) {
    fields.wrong("outputs", fields.at("outputs"), "32 hexadecimal digits");
  }
  if (fields.has("use")) candidate.use = use_from(fields.at("use"), what + "'s \"use\"");
  check_outcome(fields, candidate);
  return candidate;
}

}  // namespace wkvc
