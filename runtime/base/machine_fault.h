// Faults of a machine that keep a compiler from its work, as against faults of a text. Internal to the runtime.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "runtime/base/process.h"

namespace wkvc {

struct MachineFault {
  std::string found;        // "c++: fatal error: Killed signal terminated program cc1plus"
  std::string_view remedy;  // "free memory, or raise the limit of it"
};

// The first line of what a compiler printed that blames the machine: memory, a disk or a limit that was not enough, or
// a part of the compiler that somebody ended.
std::optional<MachineFault> machine_fault_in(std::string_view output);

// The message for something that the operating system refused: a thread, a folder that may not be read.
std::string refusal_text(const std::system_error& error);

// Throws UserError where the machine kept a host compiler from its work in `directory`.
void expect_no_machine_fault(const ProcessResult& result, const std::filesystem::path& directory);

}  // namespace wkvc
