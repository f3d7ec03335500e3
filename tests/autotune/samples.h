// Plausible results of tuning.
#pragma once

#include "autotune/lockfile/candidate.h"
#include "autotune/lockfile/lock_entry.h"
#include "autotune/lockfile/lockfile.h"
#include "autotune/report/html_report.h"
#include "autotune/report/shape_report.h"

namespace wkvc {

inline const Gpu h200{"NVIDIA H200", "sm_90a", 132};

Config settings(int chunk, int save_every = 0, const std::string& saved = "", const std::string& mma = "",
                int blocks = 0);

LockEntry sample_entry(LaunchSize size = {8, 4096, 64});  // of rwkv7, forward and backward, not sealed

Lockfile with(const std::vector<LockEntry>& entries);

Candidate sample_candidate(int chunk = 32, double ms = 4.45);  // timed, at the same size

// As many candidates as a search may have: timed ones of several settings, rejected and skipped ones. Always the same.
ShapeReport sample_report(int candidates = 80);

RunFacts sample_facts();

}  // namespace wkvc
