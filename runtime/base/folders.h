// Folders that the environment names.
#pragma once

#include <filesystem>
#include <optional>

namespace wkvc {

// The folder that an environment variable names, as an absolute path; empty where the variable is, none where it is not
// set. "~" and "~/…" begin with $HOME. A relative folder is one of the folder that the process was in when this text
// was first read: a program that changes its folder goes on with the same one. Homes of others, "~name/…", stay as they
// are.
std::optional<std::filesystem::path> folder_from(const char* variable);

}  // namespace wkvc
