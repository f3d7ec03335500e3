#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/error.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {
namespace {

constexpr std::array<std::pair<Role, std::string_view>, 14> names{{
    {Role::input, "input"},
    {Role::parameter, "parameter"},
    {Role::output, "output"},
    {Role::initial_state, "initial_state"},
    {Role::final_state, "final_state"},
    {Role::intermediate_states, "intermediate_states"},
    {Role::output_gradient, "output_gradient"},
    {Role::final_state_gradient, "final_state_gradient"},
    {Role::input_gradient, "input_gradient"},
    {Role::parameter_gradient, "parameter_gradient"},
    {Role::initial_state_gradient, "initial_state_gradient"},
    {Role::saved_states, "saved_states"},
    {Role::kept, "kept"},
    {Role::workspace, "workspace"},
}};

}  // namespace

std::string_view name_of(Role role) {
  const auto* const found = std::ranges::find(names, role, &std::pair<Role, std::string_view>::first);
  if (found == names.end()) internal_error("{} is no Role", static_cast<int>(role));
  return found->second;
}

std::optional<Role> role_from(std::string_view name) {
  const auto* const found = std::ranges::find(names, name, &std::pair<Role, std::string_view>::second);
  if (found == names.end()) return std::nullopt;
  return found->first;
}

std::string role_names() {
  std::vector<std::string_view> all;
  for (const auto& [role, name] : names) all.push_back(name);
  return fmt::format("{}", fmt::join(all, ", "));
}

bool is_gradient(Role role) {
  return role == Role::input_gradient || role == Role::parameter_gradient || role == Role::initial_state_gradient;
}

bool is_result(Role role) {
  return role == Role::output || role == Role::final_state || role == Role::intermediate_states || is_gradient(role);
}

bool is_between_passes(Role role) { return role == Role::saved_states || role == Role::kept; }

bool is_internal(Role role) { return is_between_passes(role) || role == Role::workspace; }

bool holds_state(Role role) { return role == Role::initial_state || role == Role::final_state; }

bool is_optional(Role role) {
  return role == Role::initial_state || role == Role::final_state || role == Role::intermediate_states ||
         role == Role::final_state_gradient || role == Role::initial_state_gradient;
}

std::string_view differentiated(const TensorSpec& gradient) { return std::string_view(gradient.name).substr(1); }

}  // namespace wkvc
