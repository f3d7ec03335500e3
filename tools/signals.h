// Temporary files go when somebody stops the command.
#pragma once

namespace wkvc {

// As long as one of these objects lives, SIGINT, SIGTERM and SIGHUP end the process with 128 + their number and leave
// nothing behind. Signals that the process handles or ignores otherwise stay as they are; so do all signals afterwards.
class CleanUpOnSignals {
 public:
  CleanUpOnSignals();
  ~CleanUpOnSignals();
  CleanUpOnSignals(const CleanUpOnSignals&) = delete;
  CleanUpOnSignals& operator=(const CleanUpOnSignals&) = delete;
};

}  // namespace wkvc
