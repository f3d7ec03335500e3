// The operating system's words on a failure, and remedies. Internal to the runtime.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace wkvc {

namespace remedies {
inline constexpr std::string_view disk = "free space there, or choose a folder on another disk";
inline constexpr std::string_view file_size = "raise the limit of a file's size (ulimit -f)";
inline constexpr std::string_view memory = "free memory, or raise the limit of it";
inline constexpr std::string_view threads =
    "raise the limit of processes and threads (ulimit -u, or a container's pids)";
inline constexpr std::string_view open_files = "raise the limit of open files (ulimit -n)";
}  // namespace remedies

// The words on a value of errno: "No such file or directory".
inline std::string reason(int error) { return std::generic_category().message(error); }

// The remedy where a limit of the machine gave this value of errno; `otherwise` for other values.
inline std::string_view remedy(int error, std::string_view otherwise) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return remedies::disk;
    case EFBIG:
      return remedies::file_size;
    case ENOMEM:
      return remedies::memory;
    case EAGAIN:
      return remedies::threads;
    case EMFILE:
    case ENFILE:
      return remedies::open_files;
    default:
      return otherwise;
  }
}

}  // namespace wkvc
