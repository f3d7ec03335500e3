#include "dsl/registry.h"

#include <algorithm>
#include <numeric>

#include "codegen/rec/Names.h"
#include "dsl/builtin.h"
#include "dsl/node.h"

namespace wkvc {
namespace {

// How many letters have to be inserted, dropped or replaced (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

std::string closest(std::string_view name, const std::vector<std::string>& names) {
  const auto best = std::ranges::min_element(names, {}, [&](const auto& other) { return distance(name, other); });
  const bool alike = best != names.end() && distance(name, *best) <= std::max<std::size_t>(2, name.size() / 3);
  return alike ? fmt::format("; did you mean '{}'?", *best) : "";
}

}  // namespace

Registry Registry::builtin() {
  Registry registry;
  for (const Definition& definition : {rwkv7(), rwkv7_logw(), rwkv6()}) registry.add(definition);
  return registry;
}

Registry& Registry::known() {
  static Registry registry = builtin();
  return registry;
}

void Registry::add(Definition definition) {
  if (const auto fault = rec::name_fault(definition.name)) detail::error_at(definition.at, "{}", *fault);
  const auto [first, is_new] = definitions_.try_emplace(definition.name, definition);
  if (is_new) return;
  detail::error_at(definition.at, "recurrence '{}' is defined already, at {}:{}", definition.name,
                   first->second.at.file_name(), first->second.at.line());
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, definition] : definitions_) names.push_back(name);
  return names;
}

const Definition& Registry::find(std::string_view name) const {
  if (const auto found = definitions_.find(name); found != definitions_.end()) return found->second;
  const std::vector<std::string> known = names();
  user_error("no recurrence is called '{}'; known are {}{}", name.substr(0, 64), fmt::join(known, ", "),
             closest(name.substr(0, 64), known));
}

}  // namespace wkvc
