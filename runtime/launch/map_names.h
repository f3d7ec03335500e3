// The names of a launch's maps in files and messages.
#pragma once

namespace wkvc {

inline constexpr const char* starts_name = "cu_seqlens";    // where sequences begin
inline constexpr const char* slots_name = "state_indices";  // the slot of each sequence

}  // namespace wkvc
