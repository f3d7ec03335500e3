// Calls a kernel of the cuda target on every lane of every cluster of blocks.
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "lanes/machine.h"
#include "wkvc/abi.h"

namespace {

constexpr int kMaxTensors = 16;

// The entry takes its arguments by value, so their number has to be known when it is called.
template <int N>
void call(void* entry, const void* arguments) {
  wkvc::KernelArgs<N> args;
  std::memcpy(&args, arguments, sizeof(args));
  reinterpret_cast<void (*)(wkvc::KernelArgs<N>)>(entry)(args);
}

template <int... N>
void call_with(std::integer_sequence<int, N...>, int tensors, void* entry, const void* arguments) {
  ((tensors == N + 1 ? call<N + 1>(entry, arguments) : void()), ...);
}

}  // namespace

// Null, or what went wrong.
extern "C" const char* wkvc_lanes_launch(void* entry, int tensors, const void* arguments, unsigned clusters, int blocks,
                                         int threads, long long shared_bytes) {
  static std::string message;
  try {
    wkvc::lanes_machine::Machine machine(threads, shared_bytes, blocks);
    const auto kernel = [=] { call_with(std::make_integer_sequence<int, kMaxTensors>(), tensors, entry, arguments); };
    for (unsigned cluster = 0; cluster < clusters; ++cluster) machine.run_cluster(cluster, kernel);
    return nullptr;
  } catch (const std::exception& error) {
    message = error.what();
    return message.c_str();
  }
}
