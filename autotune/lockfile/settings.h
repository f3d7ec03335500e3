// How kernels are made where a configuration leaves that open: as a lockfile says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autotune/lockfile/lockfile.h"
#include "codegen/compiler.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

// Measured on an H200 and an H100; comes with wkvc.
const Lockfile& shipped_lockfile();

// What a recurrence, its configuration and a size are to a lockfile.
ShapeClass shape_class_of(rec::RecurrenceOp recurrence, const Config& config, LaunchSize size);

struct Settings {
  Config config;
  std::string because;  // one sentence: which entry, or why none
};

// Says whether a recurrence has kernels with a configuration. Lowering says so within a tenth of a second.
using Compiles = std::function<bool(const Source&, const Config&)>;
bool can_be_lowered(const Source& source, const Config& config);

// Returns `config` with the settings of the entry for `source` (a text of the rec stage), this size and this GPU. A
// configuration that sets a tuned field stays as it is, since settings are measured together. Fields of options that
// stand apart (--save-every, --saved, --scales) keep their values, and the settings are chosen beside them. Nothing is
// measured here. Without an entry the settings are the first of the preferred ones (autotune/preferences/preferences.h)
// that `compiles`. `sequences` lie one behind the other in a batch.
Settings settle(const Config& config, const Source& source, LaunchSize size, const Gpu& gpu, const Lockfile& lockfile,
                const Compiles& compiles = can_be_lowered, std::int64_t sequences = 1);

// Returns `config` with the settings of an entry that it leaves open.
Config with_settings(const Config& config, const Config& entry);

// Returns `config` without all that entries hold.
Config without_settings(Config config);

// Returns the preferred settings of a recurrence at a size, the likely fastest first; it may have no kernels with some.
std::vector<Config> likely_settings(const Config& config, const Source& source, LaunchSize size, int sm_count);

}  // namespace wkvc
