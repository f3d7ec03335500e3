// One result of tuning: the settings to compile with, what they were measured for, and the evidence.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "autotune/lockfile/accuracy.h"
#include "autotune/lockfile/gpu.h"
#include "autotune/lockfile/shape_class.h"
#include "codegen/compiler.h"

namespace wkvc {

// Where the numbers of an entry come from.
struct Evidence {
  std::string wkvc;             // versions
  std::string nvrtc, driver;    // of the toolchain
  std::string date;             // see timestamp
  std::int64_t candidates = 0;  // tried
  std::uint64_t seed = 0;       // of the random inputs
  std::string outputs;          // hash128 of the outputs that were validated
  bool operator==(const Evidence&) const = default;
};

std::string timestamp(std::chrono::system_clock::time_point time);  // UTC: "2026-11-21T19:30:00Z"

struct LockEntry {
  ShapeClass shape_class;
  Gpu gpu;
  std::string recurrence;  // hash128 of the rec text: another text of the same name is another operator
  Config config;           // only what config_json holds counts
  double ms = 0;           // median of a launch
  double ratio_to_copy = 0;
  Accuracies errors;
  Evidence evidence;
  std::string seal;  // over all of the above, see sealed
};

// What an entry is of: a lockfile has one of each.
bool same_subject(const LockEntry& a, const LockEntry& b);
bool sorts_before(const LockEntry& a, const LockEntry& b);  // operator, pass, io, head, accuracy, GPU, sizes
std::string subject_text(const LockEntry& entry);           // "rwkv7 both 8,4096,64, … on NVIDIA H200 (132 SMs)"

// The entry with its numbers rounded to six digits, for people to read, and the seal that goes with it. The seal is a
// hash of the other fields; whoever edits them by hand will not have it right. It is no signature.
LockEntry sealed(LockEntry entry);
bool is_sealed(const LockEntry& entry);  // whether the seal is right

nlohmann::ordered_json entry_json(const LockEntry& entry);

// Does not check the seal. Throws UserError, beginning with `what` ("tune.json: entry 3"), for anything that `sealed`
// cannot have made: also an error above its bound, or settings of another pass or accuracy than the entry's.
LockEntry entry_from(const nlohmann::json& object, const std::string& what);

}  // namespace wkvc
