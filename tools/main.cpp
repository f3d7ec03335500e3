// The wkvc command with the built-in recurrences.
#include "tools/command.h"

int main(int argc, char** argv) { return wkvc::command_main(argc, argv); }
