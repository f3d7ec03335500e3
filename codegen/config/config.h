// Checks of a configuration by itself. Messages call the fields by the options of the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/config/fields.h"

namespace wkvc {

// Says whether a text is an option of a recurrence with its value, "name=value".
bool is_setting(std::string_view text);

// Throws UserError where the pass or the chunk has no kernel that an option, or its M, says something of.
void expect_pass(const ConfigOption& option, const Config& config, bool given, bool second_given);

// Throws UserError for a field's value that its option does not take, and for fields that exclude each other. Fields
// that are not set may be set later.
void check_fields(const Config& config);

// Throws UserError for a configuration that no kernel can have. Recurrences have further limits, which lowering tells.
void check_config(const Config& config);

// Throws UserError for operands that kernels of single tokens do not have. A program may give one choice for its
// kernels of chunks and of single tokens; a command line that names both means one kernel.
void check_operands(const Config& config);

// Returns whether a configuration sets a tuned option that does not stand apart: then nothing is chosen beside it.
bool gives_schedule(const Config& config);

// Returns the configuration that no roomier one stands in for: options that make room and are left open are 1.
Config in_given_room(Config config);

// Returns that configuration, and behind it those of an open schedule with ever more of what makes room.
std::vector<Config> roomier(const Config& config);

// Returns whether the forward kernel is one of warp groups, which is guarded.
inline bool is_by_warpgroups(const Config& config) { return config.form == "warpgroups"; }

// The configuration with N for every M that follows N.
Config completed(Config config);

// Returns the configuration of both passes for a backward pass alone, which has nobody to save its states.
Config with_forward(Config config);

// The options among those set that every text of this stage has settled already: "--head".
std::vector<std::string> settled_options(Stage stage, const Config& config);

}  // namespace wkvc
