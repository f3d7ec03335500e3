// The system's C++ compiler, which makes kernels for the host. Internal to the runtime.
#pragma once

#include <filesystem>
#include <string>

namespace wkvc {

// What a text's object depends on besides the text: the compiler and the flags that the environment names.
std::string host_compiler_key();

// Whether the environment's flags ask for what debuggers and sanitizers read later: the text and the object.
bool wants_host_files();

// Compiles a kernel's text in `directory`, and returns the object. Throws UserError where there is no compiler, or
// where the machine keeps the compiler from its work; InternalError where the text does not compile (log and numbered
// source together).
std::filesystem::path compile_for_host(const std::filesystem::path& directory, const std::string& source);

}  // namespace wkvc
