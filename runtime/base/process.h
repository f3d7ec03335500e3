// Runs another program. Internal to the runtime.
#pragma once

#include <string>
#include <vector>

#include "runtime/error.h"

namespace wkvc {

// A program cannot be started.
class NotStarted : public UserError {
 public:
  NotStarted(const std::string& program, int error);

  bool is_missing() const;  // there is no such program, or it may not be run

 private:
  int error_;  // a value of errno
};

struct ProcessResult {
  bool succeeded = false;  // it exited by itself, with 0
  // Nobody can say how it ended: the program of this process ignores SIGCHLD, or one of its threads waits for any
  // child.
  bool unknown = false;
  int signal = 0;      // that ended it, or what it had started, as a shell says by its status; 0: none
  std::string output;  // standard output and error, as they came, and how it ended unless it succeeded
};

// Starts arguments[0], looked up in PATH, without a shell, with nothing on its standard input and in the C locale, and
// waits for it. Throws NotStarted.
ProcessResult run_process(const std::vector<std::string>& arguments);

// Ends the programs that are running; from then on run_process neither starts one nor returns. For a process that is
// about to end.
void end_processes();

}  // namespace wkvc
