#include "target.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "wkvc/host/launch.h"

namespace wkvc::test {

namespace {

// Kernels compiled ahead of time into a library.
class Library {
 public:
  explicit Library(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }

  template <class Function>
  Function* find(const std::string& name) const {
    void* symbol = dlsym(handle_, name.c_str());
    if (symbol == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<Function*>(symbol);
  }

 private:
  void* handle_;
};

// KernelArgs<N> for any N: its header and N tensors.
std::vector<long long> arguments_of(Launch& launch) {
  static_assert(sizeof(TensorArg) % sizeof(long long) == 0);
  const std::size_t words = sizeof(TensorArg) / sizeof(long long);
  std::vector<long long> args{launch.batches, launch.tokens, launch.heads, 1, launch.segments};
  args.resize(offsetof(KernelArgs<1>, tensor) / sizeof(long long));  // no starts, no slots, no report
  args[offsetof(KernelArgs<1>, group) / sizeof(long long)] = launch.group;
  for (Tensor& tensor : launch.tensors) {
    const TensorArg argument = tensor.argument(tensor.bytes().data());
    if (argument.data != nullptr) args[3] &= argument.flags;
    args.resize(args.size() + words);
    std::memcpy(&args[args.size() - words], &argument, sizeof(argument));
  }
  return args;
}

class HostTarget : public Target {
 public:
  std::string name() const override { return "host"; }

  void run(Launch& launch) const override {
    const auto kernel = library_.find<int(const void*, host::Launch*)>(launch.entry);
    host::Launch state{launch.shared_bytes, launch.stall_seconds};
    if (kernel(arguments_of(launch).data(), &state) != 0) throw std::runtime_error(state.message);
  }

 private:
  Library library_{WKVC_HOST_KERNELS};
};

#ifdef WKVC_LANE_KERNELS
class LanesTarget : public Target {
 public:
  std::string name() const override { return "lanes"; }

  void run(Launch& launch) const override {
    using Run = const char*(void*, int, const void*, unsigned, int, int, long long);
    const char* error = library_.find<Run>("wkvc_lanes_launch")(
        library_.find<void>(launch.entry), static_cast<int>(launch.tensors.size()), arguments_of(launch).data(),
        static_cast<unsigned>(launch.batches * launch.heads * launch.segments), launch.cluster, 32 * launch.warps,
        launch.shared_bytes);
    if (error != nullptr) throw std::runtime_error(error);
  }

 private:
  Library library_{WKVC_LANE_KERNELS};
};
#endif

}  // namespace

const std::vector<const Target*>& targets() {
  static const HostTarget host;
#ifdef WKVC_LANE_KERNELS
  static const LanesTarget lanes;
  static const std::vector<const Target*> all{&host, &lanes};
#else
  static const std::vector<const Target*> all{&host};
#endif
  return all;
}

}  // namespace wkvc::test
