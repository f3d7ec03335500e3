// What can be said of a configuration by itself. Messages call its fields by the options of the command line.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/compiler.h"

namespace wkvc {

inline constexpr int max_blocks = 32;  // that a multiprocessor of sm_90 holds
inline constexpr std::array<std::string_view, 2> scales_choices{"always", "guarded"};

// Throws UserError for `option` (null: none was given) where there is no backward pass for it to say something of.
void check_backward_option(const Config& config, const char* option);

// Throws UserError for a value that its field doesn't take, and for options of the backward pass without one. Heads,
// chunks and dtypes of tensors are checked where recurrences are lowered.
void check_config(const Config& config);

// The options among those set that a text of this stage has settled already: "--head".
std::vector<std::string> settled_options(const Config& config, Stage stage);

}  // namespace wkvc
