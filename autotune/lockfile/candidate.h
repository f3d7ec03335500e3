// What became of one configuration at one size.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "autotune/lockfile/accuracy.h"
#include "codegen/compiler.h"
#include "runtime/launch/launch_size.h"

namespace wkvc {

enum class Outcome {
  timed,     // valid, with a time
  rejected,  // does not compile, does not fit, or is wrong
  skipped,   // not tried: the model expects nothing of it
};

std::string_view name_of(Outcome outcome);

// Of the kernel of a configuration that uses most.
struct KernelUse {
  std::int64_t shared_bytes = 0;  // of a block
  int registers = 0;              // of a thread
  std::int64_t spill_bytes = 0;   // stored by a thread
  int blocks_per_sm = 0;          // that fit at once
  bool operator==(const KernelUse&) const = default;
};

struct Candidate {
  Config config;  // only what config_json holds counts
  LaunchSize size;
  Outcome outcome = Outcome::timed;
  std::string reason;                  // why it was rejected or skipped
  std::optional<double> ms;            // median of a launch; always there when timed
  std::optional<double> predicted_ms;  // by the model
  Accuracies errors;                   // of results, as far as they were compared
  std::string outputs;                 // hash128 of the outputs, or empty
  std::optional<KernelUse> use;        // when it was compiled
};

// What is not known is left out.
nlohmann::ordered_json candidate_json(const Candidate& candidate);

// Throws UserError, beginning with `what`, for anything that candidate_json does not make.
Candidate candidate_from(const nlohmann::json& object, const std::string& what);

}  // namespace wkvc
