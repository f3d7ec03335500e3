// --lockfile: where settings come from that the command line leaves open.
#pragma once

#include <optional>
#include <string>

#include "autotune/lockfile/lockfile.h"
#include "autotune/lockfile/settings.h"
#include "checking/subject.h"

namespace CLI {
class App;
}

namespace wkvc {

struct LockfileOption {
  std::optional<std::string> path;  // a file, or "none"; not given: the one that wkvc comes with

  void add_to(CLI::App& command);

  // Returns the lockfile, with entries that come with wkvc where the file has none of their subject; nothing where
  // settings are the compiler's choice. Throws UserError for a file that is none.
  std::optional<Lockfile> lockfile() const;

  // Sets what the subject's configuration leaves open, and says why. Throws UserError for a file that is no lockfile.
  std::string settle(Subject& subject, LaunchSize size, const Gpu& gpu) const;
};

// The GPU that kernels are compiled for where none is here: the one that the target was measured on.
Gpu gpu_without_driver(const std::string& arch);

}  // namespace wkvc
