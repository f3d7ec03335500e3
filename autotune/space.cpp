#include "autotune/space.h"

#include <fmt/format.h>

#include <array>
#include <initializer_list>

namespace wkvc {
namespace {

constexpr int default_distance = 64;  // tokens between saved states, in f32

double saved_bytes(const Config& config, int distance, std::string_view dtype) {
  return double{1} * config.key_dim * config.value_dim * (dtype == "f32" ? 4 : 2) / distance;
}

// What is left open, for every configuration so far.
template <class Value, class Set>
void vary(std::vector<Config>& space, bool open, std::initializer_list<Value> values, const Set& set) {
  if (!open) return;
  std::vector<Config> varied;
  for (const Config& config : space) {
    for (const Value& value : values) set(varied.emplace_back(config), value);
  }
  space = std::move(varied);
}

}  // namespace

std::vector<Config> search_space(const Config& base, const SpaceLimits& limits) {
  std::vector<Config> space{base};
  vary(space, base.chunk == 0, {16, 32, 48, 64}, [](Config& config, int chunk) { config.chunk = chunk; });
  vary(space, base.blocks == 0, {1, 2, 3, 4, 5, 6}, [](Config& config, int blocks) { config.blocks = blocks; });
  if (base.pass == "forward") return space;
  vary(space, base.backward_blocks == 0, {1, 2, 3},
       [](Config& config, int blocks) { config.backward_blocks = blocks; });
  vary(space, base.saved.empty(), {"f32", "f16"}, [](Config& config, const char* dtype) { config.saved = dtype; });
  vary(space, base.save_every == 0, {16, 32, 48, 64, 96, 128, 192},
       [](Config& config, int distance) { config.save_every = distance; });
  const double most = limits.saved_bytes > 0 ? limits.saved_bytes : saved_bytes(base, default_distance, "f32");
  std::erase_if(space, [&](const Config& config) {
    const bool within = saved_bytes(config, config.save_every, config.saved) <= most;
    return config.save_every % config.chunk != 0 || (base.save_every == 0 && !within);
  });
  return space;
}

}  // namespace wkvc
