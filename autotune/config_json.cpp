#include "autotune/config_json.h"

#include <array>
#include <limits>
#include <string_view>

#include "codegen/config.h"
#include "codegen/rec/Limits.h"
#include "runtime/json_fields.h"

namespace wkvc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> dtypes{"f16", "bf16", "f32"};

std::string dtype(const JsonFields& fields, const char* key) { return std::string(dtypes[fields.one_of(key, dtypes)]); }

int multiple_of_16(const JsonFields& fields, const char* key) {
  const std::int64_t value = fields.integer(key, 16, std::numeric_limits<int>::max());
  if (value % 16 != 0) fields.wrong(key, fields.at(key), "a multiple of 16");
  return static_cast<int>(value);
}

}  // namespace

ordered_json config_json(const Config& config) {
  ordered_json object = ordered_json::object();
  if (!config.mma.empty()) object["mma"] = config.mma;
  if (config.chunk != 0) object["chunk"] = config.chunk;
  if (config.save_every != 0) object["save_every"] = config.save_every;
  if (!config.saved.empty()) object["saved"] = config.saved;
  if (config.segments != 0) object["segments"] = config.segments;
  if (config.backward_segments != 0) object["backward_segments"] = config.backward_segments;
  if (config.teams != 0) object["teams"] = config.teams;
  if (config.backward_teams != 0) object["backward_teams"] = config.backward_teams;
  if (config.rounds != 0) object["rounds"] = config.rounds;
  if (config.cluster != 0) object["cluster"] = config.cluster;
  if (!config.scales.empty()) object["scales"] = config.scales;
  if (config.blocks != 0) object["blocks"] = config.blocks;
  if (config.backward_blocks != 0) object["backward_blocks"] = config.backward_blocks;
  return object;
}

Config config_from(const json& object, const std::string& what) {
  const JsonFields fields(object, what,
                          {"mma", "chunk", "save_every", "saved", "segments", "backward_segments", "teams",
                           "backward_teams", "rounds", "cluster", "scales", "blocks", "backward_blocks"});
  Config config;
  if (fields.has("mma")) config.mma = dtype(fields, "mma");
  if (fields.has("chunk")) config.chunk = multiple_of_16(fields, "chunk");
  if (fields.has("save_every")) config.save_every = multiple_of_16(fields, "save_every");
  if (fields.has("saved")) config.saved = dtype(fields, "saved");
  if (fields.has("segments")) {
    config.segments = static_cast<int>(fields.integer("segments", 1, rec::max_segments));
  }
  if (fields.has("backward_segments")) {
    config.backward_segments = static_cast<int>(fields.integer("backward_segments", 1, rec::max_segments));
  }
  if (fields.has("teams")) config.teams = static_cast<int>(fields.integer("teams", 1, rec::max_teams));
  if (fields.has("backward_teams")) {
    config.backward_teams = static_cast<int>(fields.integer("backward_teams", 1, rec::max_teams));
  }
  if (fields.has("rounds")) config.rounds = static_cast<int>(fields.integer("rounds", 1, rec::max_rounds));
  if (fields.has("cluster")) {
    config.cluster = static_cast<int>(fields.integer("cluster", 1, rec::max_cluster));
    if (!rec::is_cluster(config.cluster))
      fields.wrong("cluster", fields.at("cluster"), std::string(rec::clusters_text));
  }
  if (fields.has("scales")) config.scales = scales_choices[fields.one_of("scales", scales_choices)];
  if (fields.has("blocks")) config.blocks = static_cast<int>(fields.integer("blocks", 1, max_blocks));
  if (fields.has("backward_blocks")) {
    config.backward_blocks = static_cast<int>(fields.integer("backward_blocks", 1, max_blocks));
  }
  if (config.chunk != 0 && config.save_every % config.chunk != 0) {
    fields.wrong("save_every", fields.at("save_every"), fmt::format("a multiple of the chunk, {}", config.chunk));
  }
  return config;
}

std::string config_text(const Config& config) {
  return config_json(config).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string config_label(const Config& config) {
  std::string label;
  const auto add = [&](std::string_view name, const auto& value) {
    label += fmt::format("{}{} {}", label.empty() ? "" : ", ", name, value);
  };
  if (!config.mma.empty()) add("mma", config.mma);
  if (config.chunk != 0) add("chunk", config.chunk);
  if (config.save_every != 0) add("save every", config.save_every);
  if (!config.saved.empty()) add("saved", config.saved);
  if (config.segments != 0) add("segments", config.segments);
  if (config.backward_segments != 0) add("backward segments", config.backward_segments);
  if (config.teams != 0) add("teams", config.teams);
  if (config.backward_teams != 0) add("backward teams", config.backward_teams);
  if (config.rounds != 0) add("rounds", config.rounds);
  if (config.cluster != 0) add("cluster", config.cluster);
  if (!config.scales.empty()) add("scales", config.scales);
  if (config.blocks != 0) add("blocks", config.blocks);
  if (config.backward_blocks != 0) add("backward blocks", config.backward_blocks);
  return label.empty() ? "defaults" : label;
}

}  // namespace wkvc
