#include "codegen/config/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>

#include "codegen/schedule/Faults.h"
#include "codegen/schedule/Fill.h"
#include "runtime/error.h"

namespace wkvc {

namespace {

void check_value(const ConfigOption& option, std::integral auto value) {
  if (value == 0 || std::get<Numbers>(option.values).hold(value)) return;
  user_error("{} {}: expected {}, or 0 for the compiler's choice", option.spelling, value,
             std::get<Numbers>(option.values).expected);
}

void check_value(const ConfigOption& option, const std::string& value) {
  const Words& words = std::get<Words>(option.values);
  if (std::ranges::find(words.known, value) != words.known.end()) return;
  user_error("{} '{}': expected {}", option.spelling, value, fmt::join(words.known, " or "));
}

// The name in "name=value"; all of it where there is no value.
std::string_view name_in(std::string_view setting) { return setting.substr(0, setting.find('=')); }

void check_settings(const ConfigOption& option, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const std::string_view name = name_in(setting);
    if (!is_setting(setting)) user_error("{} {}: expected {}", option.spelling, setting, values_text(option));
    if (std::ranges::count(settings, name, name_in) > 1) user_error("{}: '{}' is set twice", option.spelling, name);
  }
}

void check_value(const ConfigOption& option, const std::vector<std::string>& names) {
  if (std::holds_alternative<Assignments>(option.values)) return check_settings(option, names);
  for (const std::string& name : names) {
    if (name.empty() || name.find(',') != std::string::npos)
      user_error("{} '{}': expected names such as r,w,k", option.spelling, name);
    if (std::ranges::count(names, name) > 1) user_error("{}: '{}' is named twice", option.spelling, name);
  }
}

void check_value(const ConfigOption& option, const ConfigField& field, const Config& config) {
  if (!is_set(field, config)) return;
  std::visit([&](auto member) { check_value(option, config.*member); }, field.member);
}

void check_distance(const Config& config) {
  if (config.chunk == 0 || config.save_every % config.chunk == 0) return;
  user_error("--save-every {}: not a multiple of --chunk {}", config.save_every, config.chunk);
}

bool has_single_tokens(const Config& config) { return config.chunk == 1; }

// A kernel of single tokens has a schedule of its own.
void check_single_tokens(const Config& config) {
  if (!has_single_tokens(config)) return;
  if (config.pass != "forward")
    user_error("--chunk 1: kernels of single tokens have no backward pass yet; leave --chunk out for --pass {}",
               config.pass);
  for (const ConfigOption& option : config_options()) {
    const auto* const count = std::get_if<int Config::*>(&option.field.member);
    const bool is_single = count != nullptr && config.**count == 1;
    if (option.of_chunks && is_set(option.field, config) && !is_single)
      user_error("--chunk 1 with {0}: {0} belongs to kernels of chunks; leave one of the two options out",
                 option.spelling);
  }
}

void check_intermediate_states(const Config& config) {
  if (config.states_every == 0) return;
  if (config.pass != "forward")
    user_error(
        "--states-every {} with --pass {}: no gradients come from intermediate states; give --pass forward, or "
        "leave --states-every out",
        config.states_every, config.pass);
}

// A forward kernel by warp groups gives no states to a backward pass, and is guarded.
void check_form(const Config& config) {
  if (!is_by_warpgroups(config)) return;
  if (config.pass != "forward")
    user_error("--form {0} with --pass {1}: such kernels have no gradients yet; give --form strips, or --pass forward",
               config.form, config.pass);
  if (config.scales == "always")
    user_error("--form {0} with --scales always: such kernels are guarded; leave one of the two options out",
               config.form);
}

// A backward pass alone has no kernel for an N, which must not pass for M.
void check_second(const ConfigOption& option, const Config& config) {
  if (config.pass != "backward" || option.of != OfKernels::each || option.follows) return;
  const std::string first = text_of(option.field, config);
  if (first.empty() || first == "1" || is_set(*option.second, config)) return;
  user_error("{0} {1}: --pass backward has no forward kernel: give --pass both, or {0} auto,{1} for the backward one",
             option.spelling, first);
}

void set_number(const ConfigOption& option, int number, Config& config) {
  config.*std::get<int Config::*>(option.field.member) = number;
}

}  // namespace

bool is_setting(std::string_view text) {
  const std::string_view name = name_in(text);
  return !name.empty() && name.size() + 1 < text.size() && text.find(',') == std::string_view::npos;
}

void expect_pass(const ConfigOption& option, const Config& config, bool given, bool second_given) {
  const bool of_backward = option.of == OfKernels::each ? second_given : option.of == OfKernels::backward && given;
  if (config.pass == "forward" && of_backward)
    user_error("{}{} is an option of the backward pass: {}", option.spelling,
               option.of == OfKernels::each ? " N,M" : "",
               has_single_tokens(config) ? "--chunk 1 has none; leave one of the two options out"
                                         : "give --pass backward or --pass both, too");
  if (config.pass == "backward" && option.of == OfKernels::forward && given)
    user_error("{} is an option of the forward kernel, which --pass backward has none of: give --pass forward, or both",
               option.spelling);
}

void check_fields(const Config& config) {
  for_each_field([&](const auto& option, const auto& field) { check_value(option, field, config); });
  for (const ConfigOption& option : config_options())
    expect_pass(option, config, is_set(option.field, config), option.second && is_set(*option.second, config));
  check_distance(config);
}

void check_config(const Config& config) {
  check_fields(config);
  check_single_tokens(config);
  for (const ConfigOption& option : config_options()) check_second(option, config);
  if (auto fault = fault_of(forward_schedule(config), /*backward=*/false, CalledBy::options)) user_error("{}", *fault);
  check_intermediate_states(config);
  check_form(config);
}

void check_operands(const Config& config) {
  if (!has_single_tokens(config) || config.pass != "forward") return;  // check_config refuses other passes
  if (config.mma.empty() || config.mma == "f32") return;
  user_error("--chunk 1 with --mma {}: kernels of single tokens compute in f32; leave one of the two options out",
             config.mma);
}

bool gives_schedule(const Config& config) {
  return std::ranges::any_of(config_options(), [&](const ConfigOption& option) {
    return option.recorded == Recorded::tuned && !option.apart && is_set(option, config);
  });
}

Config in_given_room(Config config) {
  for (const ConfigOption& option : config_options())
    if (option.makes_room && !is_set(option, config)) set_number(option, 1, config);
  return config;
}

std::vector<Config> roomier(const Config& config) {
  std::vector<Config> configs{in_given_room(config)};
  for (const ConfigOption& option : config_options()) {
    if (!option.makes_room) continue;
    for (int number = 2; std::get<Numbers>(option.values).hold(number); ++number)
      set_number(option, number, configs.emplace_back(configs.front()));
  }
  return configs;
}

Config completed(Config config) {
  if (is_by_warpgroups(config)) config.scales = "guarded";
  for (const ConfigOption& option : config_options()) {
    if (!option.follows || is_set(*option.second, config)) continue;
    std::visit([&](auto from) { config.*std::get<decltype(from)>(option.second->member) = config.*from; },
               option.field.member);
  }
  return config;
}

Config with_forward(Config config) {
  if (config.pass == "backward") config.pass = "both";
  return config;
}

std::vector<std::string> settled_options(Stage stage, const Config& config) {
  std::vector<std::string> names;
  for (const ConfigOption& option : config_options())
    if (option.settled && stage >= *option.settled && is_set(option, config)) names.emplace_back(option.spelling);
  return names;
}

}  // namespace wkvc
