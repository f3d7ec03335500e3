// The emitted nest for cuda, with the instructions of tests/templates/lanes in place of PTX.
#include "gdn_c64_forward.cu"

#include <cstring>
#include <string>

#include "lanes/machine.h"

// Runs every block of a launch. Null, or what went wrong.
extern "C" const char* nest_lanes_run(const void* arguments, unsigned blocks, int threads, long long shared_bytes) {
  static std::string message;
  try {
    wkvc::MappedArgs<9, 4> args;
    std::memcpy(&args, arguments, sizeof args);
    wkvc::lanes_machine::Machine machine(threads, shared_bytes, 1);
    for (unsigned block = 0; block < blocks; ++block) machine.run_cluster(block, [&] { gdn_c64_forward(args); });
    return nullptr;
  } catch (const std::exception& error) {
    message = error.what();
    return message.c_str();
  }
}
