#include "tests/mutants/shipped.h"

#include <fmt/core.h>

#include <set>

#include "autotune/lockfile/config_json.h"
#include "autotune/lockfile/settings.h"

namespace wkvc::test {

std::vector<ShippedConfig> shipped_configs() {
  std::vector<ShippedConfig> all;
  std::set<std::string> names;
  for (const LockEntry& entry : shipped_lockfile().entries()) {
    const ShapeClass& of = entry.shape_class;
    Config config = entry.config;
    config.key_dim = of.key_dim;
    config.value_dim = of.value_dim;
    config.io = name_of(of.io);
    config.mma = of.accuracy;
    config.pass = of.pass;
    const std::string name =
        fmt::format("{} {} {}x{}: {}", of.op, of.pass, of.key_dim, of.value_dim, config_label(entry.config));
    if (names.insert(name).second) all.push_back({name, of.op, config});
  }
  return all;
}

}  // namespace wkvc::test
