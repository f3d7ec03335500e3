// Schedules that no kernel can have.
#pragma once

#include <optional>
#include <string>

#include "codegen/schedule/Schedule.h"

namespace wkvc {

// Messages call choices by the options that filled a schedule in, or by the fields that a text says.
enum class CalledBy { options, fields };

// Returns why no kernel can have the schedule, whatever its program is, and what to do; nothing if some can.
std::optional<std::string> fault_of(const Schedule& schedule, bool backward, CalledBy called);

}  // namespace wkvc
