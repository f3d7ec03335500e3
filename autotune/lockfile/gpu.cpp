#include "autotune/lockfile/gpu.h"

#include <limits>

#include "runtime/base/json_fields.h"
#include "runtime/base/names.h"

namespace wkvc {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json gpu_json(const Gpu& gpu) { return {{"name", gpu.name}, {"arch", gpu.arch}, {"sm_count", gpu.sm_count}}; }

Gpu gpu_from(const json& object, const std::string& what) {
  const JsonFields fields(object, what, {"name", "arch", "sm_count"});
  Gpu gpu;
  gpu.name = fields.text("name");
  if (gpu.name.empty()) fields.wrong("name", fields.at("name"), "the name of a GPU, such as NVIDIA H200");
  gpu.arch = fields.text("arch");
  if (!is_arch(gpu.arch)) fields.wrong("arch", fields.at("arch"), "an architecture such as sm_90a");
  gpu.sm_count = static_cast<int>(fields.integer("sm_count", 1, std::numeric_limits<int>::max()));
  return gpu;
}

}  // namespace wkvc
