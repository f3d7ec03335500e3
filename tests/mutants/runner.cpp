// Runs several variants of one kernel, each on fresh copies of the same tensors, in a process where ThreadSanitizer
// reports the races of kernels that are compiled for it: see batch.h.
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

// What a failed launch leaves unwritten is NaN, which is its result.
void launch(const HostKernel& kernel, const Manifest& manifest, TensorMap& memory, LaunchSize size) {
  const LaunchArguments arguments(LaunchPlan(manifest), views_of(memory, manifest, size), size);
  try {
    kernel.run(arguments.bytes().data(), manifest.shared_bytes, /*blocks=*/0, /*stall_seconds=*/2);
  } catch (const InternalError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
}

TensorMap results_of(const TensorMap& memory, const Manifest& manifest) {
  TensorMap results;
  for (const TensorSpec& spec : manifest.tensors)
    if (is_result(spec.role) || is_internal(spec.role)) results.insert(*memory.find(spec.name));
  return results;
}

void run(const std::filesystem::path& directory) {
  const std::string text = text_of(directory / "kernels.cu");
  const Manifest manifest = manifest_from(text);
  const SafetensorsFile file = read_safetensors(directory / "memory.safetensors");
  const auto number = [&](const char* name) { return std::stoll(file.metadata.at(name)); };
  const LaunchSize size{number("batches"), number("tokens"), number("heads")};
  for (long long i = 0; i < number("variants"); ++i) {
    const auto name = std::to_string(i);
    const HostKernel kernel = HostKernel::compile(text, manifest.kernel + "_" + name);
    TensorMap memory = file.tensors;
    std::fprintf(stderr, "variant %s\n", name.c_str());
    launch(kernel, manifest, memory, size);
    write_safetensors(directory / (name + ".safetensors"), results_of(memory, manifest));
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
