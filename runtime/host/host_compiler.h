// The system's C++ compiler, which makes kernels for the host. Internal to the runtime.
#pragma once

#include <filesystem>
#include <string>

namespace wkvc {

// The compiler and the flags that the environment names, on which a text's object depends, too.
std::string host_compiler_key();

// True where the environment's flags are for debuggers or sanitizers, which read text and object later.
bool wants_host_files();

// Compiles a kernel's text in `directory`, and returns the object. Throws UserError where there is no compiler, or
// where the machine keeps the compiler from its work; InternalError where the text does not compile (log and numbered
// source together).
std::filesystem::path compile_for_host(const std::filesystem::path& directory, const std::string& source);

}  // namespace wkvc
