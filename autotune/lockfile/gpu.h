// Which GPU something was measured on.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace wkvc {

struct Gpu {
  std::string name;  // as the driver calls it: "NVIDIA H200"
  std::string arch;  // the real architecture compiled for: "sm_90a"
  int sm_count = 0;
  bool operator==(const Gpu&) const = default;
};

nlohmann::ordered_json gpu_json(const Gpu& gpu);

// Throws UserError, beginning with `what`.
Gpu gpu_from(const nlohmann::json& object, const std::string& what);

}  // namespace wkvc
