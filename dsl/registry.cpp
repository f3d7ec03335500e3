#include "dsl/registry.h"

#include <algorithm>

#include "codegen/rec/Names.h"
#include "dsl/builtin.h"
#include "dsl/node.h"
#include "runtime/base/closest.h"

namespace wkvc {
Registry Registry::builtin() {
  Registry registry;
#define WKVC_OPERATOR(name) registry.add(name());
#include "dsl/operators.def"
#undef WKVC_OPERATOR
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
