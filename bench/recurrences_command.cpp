// The wkvc command with the operators that bench/curves.py measures beside the built-in ones.
//
//   build/bin/bench_recurrences check kda --head 128 --pass both
//   build/bin/bench_recurrences emit mamba2 --head 128,64 --io bf16 --stage rec
#include "bench/recurrences.h"
#include "tools/command.h"

int main(int argc, char** argv) {
  using namespace wkvc::bench;
  return wkvc::command_main(argc, argv, {kda_gate5, unnamed});
}
