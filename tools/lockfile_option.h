// --lockfile: where settings come from that the command line leaves open.
#pragma once

#include <optional>
#include <string>

#include "autotune/lockfile/settings.h"
#include "checking/subject.h"

namespace CLI {
class App;
}

namespace wkvc {

struct LockfileOption {
  std::optional<std::string> path;  // a file, or "none"; not given: the one that wkvc comes with

  void add_to(CLI::App& command);

  // Sets what the subject's configuration leaves open, and says why. Throws UserError for a file that is no lockfile.
  std::string settle(Subject& subject, LaunchSize size, const Gpu& gpu) const;
};

}  // namespace wkvc
