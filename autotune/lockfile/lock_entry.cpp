#include "autotune/lockfile/lock_entry.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <limits>
#include <tuple>

#include "autotune/lockfile/config_json.h"
#include "codegen/config/fields.h"
#include "runtime/base/hash.h"
#include "runtime/base/json_fields.h"

namespace wkvc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

double rounded(double value) {
  const std::string digits = fmt::format("{:.6g}", value);
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

ordered_json evidence_json(const Evidence& evidence) {
  return {{"wkvc", evidence.wkvc},      {"nvrtc", evidence.nvrtc},           {"driver", evidence.driver},
          {"date", evidence.date},      {"candidates", evidence.candidates}, {"seed", evidence.seed},
          {"outputs", evidence.outputs}};
}

ordered_json unsealed_json(const LockEntry& entry) {
  ordered_json object = ordered_json::object();
  add_shape_class(object, entry.shape_class);
  object["gpu"] = gpu_json(entry.gpu);
  object["recurrence"] = entry.recurrence;
  object["config"] = config_json(entry.config);
  object["ms"] = entry.ms;
  object["ratio_to_copy"] = entry.ratio_to_copy;
  object["errors"] = accuracies_json(entry.errors);
  object["evidence"] = evidence_json(entry.evidence);
  return object;
}

std::string seal_of(const LockEntry& entry) {
  return hex_hash(unsealed_json(entry).dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string filled(const JsonFields& fields, const char* key) {
  std::string text = fields.text(key);
  if (text.empty()) fields.wrong(key, fields.at(key), "a text that is not empty");
  return text;
}

std::string hash(const JsonFields& fields, const char* key) {
  std::string text = fields.text(key);
  if (!is_hex_hash(text)) fields.wrong(key, fields.at(key), "32 hexadecimal digits");
  return text;
}

double positive(const JsonFields& fields, const char* key) {
  return fields.number(key, std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
}

std::string date(const JsonFields& fields) {
  constexpr std::string_view pattern = "dddd-dd-ddTdd:dd:ddZ";
  std::string text = fields.text("date");
  const auto fits = [](char c, char wanted) { return wanted == 'd' ? c >= '0' && c <= '9' : c == wanted; };
  if (!std::equal(text.begin(), text.end(), pattern.begin(), pattern.end(), fits)) {
    fields.wrong("date", fields.at("date"), "a time such as 2026-11-21T19:30:00Z");
  }
  return text;
}

std::uint64_t seed(const JsonFields& fields) {
  const json& value = fields.at("seed");
  if (!value.is_number_unsigned()) fields.wrong("seed", value, "an integer from 0 to 2^64 - 1");
  return value.get<std::uint64_t>();
}

Evidence evidence_from(const json& object, const std::string& what) {
  const JsonFields fields(object, what, {"wkvc", "nvrtc", "driver", "date", "candidates", "seed", "outputs"});
  Evidence evidence;
  evidence.wkvc = filled(fields, "wkvc");
  evidence.nvrtc = filled(fields, "nvrtc");
  evidence.driver = filled(fields, "driver");
  evidence.date = date(fields);
  evidence.candidates = fields.integer("candidates", 1, std::numeric_limits<std::int64_t>::max());
  evidence.seed = seed(fields);
  evidence.outputs = hash(fields, "outputs");
  return evidence;
}

// Settings that contradict what the entry is of.
void check_config(const JsonFields& fields, const LockEntry& entry) {
  const Config& config = entry.config;
  const std::string& accuracy = entry.shape_class.accuracy;
  if (accuracy != "any" && !config.mma.empty() && config.mma != accuracy) {
    fields.wrong("config", fields.at("config"), fmt::format("no \"mma\" but that of \"accuracy\", {}", accuracy));
  }
  if (entry.shape_class.pass != "forward") return;
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    if (is_of_backward(option, field) && is_set(field, config)) {
      fields.wrong("config", fields.at("config"), fmt::format("no \"{}\" in a forward pass", field.name));
    }
  });
}

void check_errors(const JsonFields& fields, const Accuracies& errors) {
  if (errors.empty()) fields.wrong("errors", fields.at("errors"), "the error of at least one result");
  if (within_bounds(errors)) return;
  const auto& [result, accuracy] = *worst(errors);
  user_error("{}'s \"errors\": the error of \"{}\", {}, is not within its bound, {}; what is kept has passed",
             fields.what(), result, accuracy.error, accuracy.bound);
}

auto order(const LockEntry& entry) {
  const ShapeClass& of = entry.shape_class;
  return std::tie(of.op, of.pass, of.io, of.key_dim, of.value_dim, of.accuracy, entry.config.set, entry.gpu.name,
                  entry.gpu.arch, entry.gpu.sm_count, of.size.batches, of.size.tokens, of.size.heads);
}

}  // namespace

std::string timestamp(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

bool same_subject(const LockEntry& a, const LockEntry& b) { return order(a) == order(b); }

bool sorts_before(const LockEntry& a, const LockEntry& b) { return order(a) < order(b); }

std::string subject_text(const LockEntry& entry) {
  return fmt::format("{} on {} ({} SMs)", text_of(entry.shape_class), entry.gpu.name, entry.gpu.sm_count);
}

LockEntry sealed(LockEntry entry) {
  entry.ms = rounded(entry.ms);
  entry.ratio_to_copy = rounded(entry.ratio_to_copy);
  for (auto& [result, accuracy] : entry.errors) accuracy = {rounded(accuracy.error), rounded(accuracy.bound)};
  entry.seal = seal_of(entry);
  return entry;
}

bool is_sealed(const LockEntry& entry) { return entry.seal == seal_of(entry); }

ordered_json entry_json(const LockEntry& entry) {
  ordered_json object = unsealed_json(entry);
  object["seal"] = entry.seal;
  return object;
}

LockEntry entry_from(const json& object, const std::string& what) {
  std::vector<std::string_view> keys = shape_class_keys();
  for (const char* key : {"gpu", "recurrence", "config", "ms", "ratio_to_copy", "errors", "evidence", "seal"}) {
    keys.emplace_back(key);
  }
  const JsonFields fields(object, what, keys);
  LockEntry entry;
  entry.shape_class = shape_class_from(fields);
  entry.gpu = gpu_from(fields.at("gpu"), what + "'s \"gpu\"");
  entry.recurrence = hash(fields, "recurrence");
  entry.config = config_from(fields.at("config"), what + "'s \"config\"");
  check_config(fields, entry);
  entry.ms = positive(fields, "ms");
  entry.ratio_to_copy = positive(fields, "ratio_to_copy");
  entry.errors = accuracies_from(fields.at("errors"), what + "'s \"errors\"");
  check_errors(fields, entry.errors);
  entry.evidence = evidence_from(fields.at("evidence"), what + "'s \"evidence\"");
  entry.seal = hash(fields, "seal");
  return entry;
}

}  // namespace wkvc
