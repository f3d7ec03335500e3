// wkvc bench: median time on the GPU, and the time of a copy that moves as many bytes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/device_tensor.h"
#include "runtime/error.h"
#include "runtime/measure.h"
#include "tools/commands.h"
#include "tools/execute.h"
#include "tools/subject.h"
#include "tools/traffic.h"

namespace wkvc {
namespace {

struct Options {
  SubjectOptions subject;
  ConfigOptions config;
  std::string shape;
};

constexpr int warmups = 10, repetitions = 100;

// `small`, repeated along every dimension until the shape is full: random data at the cost of copying.
HostTensor tiled(const HostTensor& small, const std::vector<std::int64_t>& shape) {
  HostTensor large(small.dtype(), shape);
  const std::size_t rank = shape.size();
  const auto row_bytes = static_cast<std::size_t>(shape.back()) * size_of(small.dtype());
  std::vector<std::int64_t> index(rank - 1, 0);
  for (std::size_t row = 0; row * row_bytes < large.bytes().size(); ++row) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d + 1 < rank; ++d) from = from * small.shape()[d] + index[d] % small.shape()[d];
    std::memcpy(large.bytes().data() + row * row_bytes,
                small.bytes().data() + static_cast<std::size_t>(from) * row_bytes, row_bytes);
    for (std::size_t d = rank - 1; d > 0; --d) {
      if (++index[d - 1] < shape[d - 1]) break;
      index[d - 1] = 0;
    }
  }
  return large;
}

// The tensors of a kernel on the GPU.
struct Placed {
  std::vector<DeviceTensor> tensors;
  std::vector<Tensor> arguments;
};

Placed place(const Device& device, const Manifest& manifest, LaunchSize size, const Case& small) {
  Placed placed;
  for (const TensorSpec& spec : manifest.tensors) {
    const HostTensor tensor = tiled(small.tensors.at(spec.name), shape_of(spec, manifest, size));
    placed.tensors.push_back(DeviceTensor::upload(device, tensor));
    placed.arguments.push_back(placed.tensors.back().view());
  }
  return placed;
}

// Of random values that no cache holds for long, drawn for a smaller size.
Case small_case(rec::RecurrenceOp recurrence, const Manifest& manifest, LaunchSize size) {
  const LaunchSize small{1, std::min<std::int64_t>(size.tokens, 512), std::min<std::int64_t>(size.heads, 8)};
  return random_case(recurrence, manifest, small, 0);
}

int bench(const Options& options) {
  const LaunchSize size = parse_shape(options.shape);
  const Subject subject = subject_from(options.subject, options.config);
  target_from("cuda");  // throws where there is none
  const std::string text = subject.text(Stage::cuda);
  const Kernel kernel = load_kernel(subject, text, Target::cuda);
  const Manifest& manifest = kernel.manifest();
  const std::int64_t bytes = bytes_moved(manifest, size);

  mlir::MLIRContext context;
  const auto module = rec::parse(subject.reference(manifest), subject.origin, context);
  const Device device = Device::current();
  const Stream stream(device);
  const Case small = small_case(rec::recurrence_of(*module), manifest, size);
  // As many sets of tensors as overflow the L2 cache three times over, so that none is found there when its turn comes.
  const std::int64_t sets = std::min<std::int64_t>(64, 1 + 3 * device.properties().l2_bytes / bytes);
  std::vector<Placed> placed;
  for (std::int64_t i = 0; i < sets; ++i) placed.push_back(place(device, manifest, size, small));

  std::size_t turn = 0;
  const double ms = time_ms(
      device, stream.handle(),
      [&](StreamHandle handle) { kernel.launch(placed[turn++ % placed.size()].arguments, size, handle); }, warmups,
      repetitions);
  const double copy_ms = copy_bytes_ms(device, bytes);
  fmt::print("{} on {}, {}, shape {}\n", manifest.op, device.properties().name, manifest.config, options.shape);
  fmt::print("  median           {:.4f} ms of {} launches\n", ms, repetitions);
  fmt::print("  bandwidth        {:.0f} GB/s of {:.1f} MB, every tensor moved once\n",
             static_cast<double>(bytes) / ms / 1e6, static_cast<double>(bytes) / 1e6);
  fmt::print("  copy             {:.4f} ms for as many bytes; the kernel takes {:.2f} times as long\n", copy_ms,
             ms / copy_ms);
  return exit_passed;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Median time on the GPU");
  const auto options = std::make_shared<Options>();
  options->subject.add_to(*command, /*with_source=*/true);
  command->add_option("--shape", options->shape, "Batch, tokens, heads")->required()->type_name("B,T,H");
  options->config.add_to(*command);
  command->callback([&action, options] { action = [options] { return bench(*options); }; });
}

}  // namespace wkvc
