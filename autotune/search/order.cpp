#include "autotune/search/order.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "autotune/lockfile/config_json.h"

namespace wkvc {
namespace {

// About 0.6 of `size` and coprime with it: steps of that many, taken round, come to everything, and the first of them
// are spread over the whole.
std::size_t spreading_step(std::size_t size) {
  std::size_t step = std::max<std::size_t>(1, size * 618 / 1000);
  while (std::gcd(step, size) != 1) ++step;
  return step;
}

}  // namespace

std::vector<Config> in_turn(std::vector<Config> first, std::span<const Config> space) {
  const std::size_t step = spreading_step(std::max<std::size_t>(space.size(), 1));
  for (std::size_t n = 0; n < space.size(); ++n) first.push_back(space[n * step % space.size()]);
  std::set<std::string> seen;
  std::erase_if(first, [&](const Config& config) { return !seen.insert(config_text(config)).second; });
  return first;
}

}  // namespace wkvc
