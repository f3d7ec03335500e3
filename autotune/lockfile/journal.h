// What a tuner's run has finished so far, so that it can go on after an interrupt. One JSON line for the run, then one
// for each candidate.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "autotune/lockfile/append_file.h"
#include "autotune/lockfile/candidate.h"
#include "autotune/lockfile/gpu.h"
#include "autotune/lockfile/shape_class.h"

namespace wkvc {

// What has to be equal for results to be of the same run.
struct TuningRun {
  std::vector<ShapeClass> shape_classes;
  std::string recurrence;  // hash128 of the rec text
  std::string space;       // hash128 of the configurations to try
  Gpu gpu;
  std::string wkvc;           // versions
  std::string nvrtc, driver;  // of the toolchain
  std::uint64_t seed = 0;     // of the random inputs
  std::string inputs = {};    // hash128 of the file that is timed on; empty: drawn
};

class Journal {
 public:
  // Goes on with the journal at `path`, or begins one. A last line that was torn when its run was ended is dropped.
  // Throws UserError when the file is of another run (saying in what they differ), is no journal or is damaged, is in
  // use by another run, or cannot be written; then it stays as it is.
  Journal(const std::filesystem::path& path, const TuningRun& run);

  std::span<const Candidate> finished() const { return finished_; }  // in the order they were appended in

  // The record of this configuration at this size, or null. Valid until the next append.
  const Candidate* find(const Config& config, LaunchSize size) const;

  // On the disk when it returns; throws UserError when it cannot be written.
  void append(const Candidate& candidate);

 private:
  void take(std::string_view text, const std::string& header);

  std::string name_;
  AppendFile file_;
  std::vector<Candidate> finished_;
};

}  // namespace wkvc
