// Runs several variants of one kernel, each on fresh copies of the same tensors, in a process of its own, where
// ThreadSanitizer reports the races of kernels that are compiled for it: see batch.h.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "runtime/error.h"
#include "runtime/host/host_jit.h"
#include "runtime/launch/launch_arguments.h"
#include "tests/mutants/written.h"
#include "tests/run/memory.h"

namespace wkvc::test {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// In the manifest's order.
std::vector<Tensor> views_of(TensorMap& memory, const Manifest& manifest, LaunchSize size) {
  std::vector<Tensor> views;
  for (const TensorSpec& spec : manifest.tensors)
    views.push_back(layout_of(spec, manifest, size).view(memory.at(spec.name).view()));
  return views;
}

void launch(const HostKernel& kernel, const Manifest& manifest, TensorMap& memory, LaunchSize size) {
  const LaunchArguments arguments(LaunchPlan(manifest), views_of(memory, manifest, size), size);
  kernel.run(arguments.bytes().data(), manifest.shared_bytes, /*blocks=*/0, /*stall_seconds=*/2);
}

TensorMap results_of(const TensorMap& memory, const Manifest& manifest) {
  TensorMap results;
  for (const TensorSpec& spec : manifest.tensors)
    if (is_result(spec.role) || is_internal(spec.role)) results.insert(*memory.find(spec.name));
  return results;
}

// Does `work` in a child process, and waits for its end, however it ends. No thread is there to be left behind.
template <class Work>
void do_apart(Work work) {
  const pid_t child = ::fork();
  if (child < 0) internal_error("cannot start a process: error {}", errno);
  if (child > 0) {
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return;
  }
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  ::_exit(0);
}

// Results are a file. A variant that crashes or waits in vain leaves none.
void run(const std::filesystem::path& directory) {
  const std::string text = text_of(directory / "kernels.cu");
  const Manifest manifest = manifest_from(text);
  SafetensorsFile file = read_safetensors(directory / "memory.safetensors");
  const auto number = [&](const char* name) { return std::stoll(file.metadata.at(name)); };
  const LaunchSize size{number("batches"), number("tokens"), number("heads")};
  for (long long i = 0; i < number("variants"); ++i) {
    const auto name = std::to_string(i);
    const HostKernel kernel = HostKernel::compile(text, manifest.kernel + "_" + name);
    std::fprintf(stderr, "variant %s\n", name.c_str());
    do_apart([&] {
      launch(kernel, manifest, file.tensors, size);
      write_safetensors(directory / (name + ".safetensors"), results_of(file.tensors, manifest));
    });
  }
}

}  // namespace
}  // namespace wkvc::test

int main(int, char** arguments) {
  try {
    wkvc::test::run(arguments[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
