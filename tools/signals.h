// What happens to temporary files when the user stops the command.
#pragma once

namespace wkvc {

// From now on SIGINT, SIGTERM and SIGHUP end the process with 128 + their number and leave nothing behind. To be called
// before other threads are started, which inherit that these signals are blocked.
void clean_up_on_signals();

}  // namespace wkvc
