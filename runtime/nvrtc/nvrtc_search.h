// Where NVRTC may lie. Internal to the runtime.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace wkvc {

// The names that NVRTC has, newest first.
inline constexpr std::array nvrtc_names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

// The library that WKVC_NVRTC names.
std::optional<std::string> chosen_nvrtc();

// Libraries to open, one after another: the chosen one alone; else names, which the loader looks for, and paths of
// files. All of one name come before the next name. They follow from the environment, the current directory, where
// wkvc lies, and the files there.
std::vector<std::string> nvrtc_candidates();

}  // namespace wkvc
