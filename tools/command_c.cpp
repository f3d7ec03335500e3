#include "jit/wkvc.h"
#include "tools/command.h"

int32_t wkvc_command(int32_t argc, char** argv) {
  try {
    return wkvc::command_main(argc, argv);
  } catch (...) {  // C has no exceptions
    return WKVC_INTERNAL_ERROR;
  }
}
