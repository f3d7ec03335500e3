// wkvc bench: median time on the GPU, and the time of a copy that moves as many bytes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "runtime/device_tensor.h"
#include "runtime/error.h"
#include "runtime/internals.h"
#include "runtime/measure.h"
#include "tools/commands.h"
#include "tools/execute.h"
#include "tools/output.h"
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

// Everything a program takes, on the GPU.
struct Placed {
  std::map<std::string, DeviceTensor> tensors;

  // Those that `program` takes, which may be a part of the whole.
  NamedTensors arguments(const Program& program) const {
    NamedTensors arguments;
    for (const TensorSpec& spec : program.manifest().tensors) arguments[spec.name] = tensors.at(spec.name).view();
    return arguments;
  }
};

Placed place(const Device& device, const Program& program, LaunchSize size, const Case& small) {
  Placed placed{device_internals(program, device, size)};
  for (const TensorSpec& spec : program.manifest().tensors) {
    if (is_internal(spec.role)) continue;
    const HostTensor tensor = tiled(small.tensors.at(spec.name), shape_of(spec, program.manifest(), size));
    placed.tensors.emplace(spec.name, DeviceTensor::upload(device, tensor));
  }
  return placed;
}

// Of random values that no cache holds for long, drawn for a smaller size.
Case small_case(rec::RecurrenceOp recurrence, const Manifest& manifest, LaunchSize size) {
  const LaunchSize small{1, std::min<std::int64_t>(size.tokens, 512), std::min<std::int64_t>(size.heads, 8)};
  return random_case(recurrence, manifest, small, 0);
}

std::vector<Manifest> manifests_of(const Program& program) {
  std::vector<Manifest> manifests;
  for (const Kernel& kernel : program.kernels()) manifests.push_back(kernel.manifest());
  return manifests;
}

// As many sets of tensors as overflow the L2 cache three times over, so that none is found there when its turn comes.
std::vector<Placed> place_sets(const Device& device, const Program& program, LaunchSize size, const Case& small,
                               std::int64_t bytes) {
  const std::int64_t sets = std::min<std::int64_t>(64, 1 + 3 * device.properties().l2_bytes / bytes);
  std::vector<Placed> placed;
  for (std::int64_t i = 0; i < sets; ++i) placed.push_back(place(device, program, size, small));
  return placed;
}

// Median milliseconds of `timed`, a part of `program`, which is run once before for what the part reads of the rest.
double median_ms(const Device& device, const Program& program, const Program& timed, LaunchSize size,
                 const std::vector<Placed>& placed) {
  const Stream stream(device);
  std::vector<std::vector<Tensor>> arguments;
  for (const Placed& set : placed) {
    program.launch(set.arguments(program), size, stream.handle());
    arguments.push_back(timed.in_order(set.arguments(timed)));
  }
  std::size_t turn = 0;
  return time_ms(
      device, stream.handle(),
      [&](StreamHandle handle) { timed.launch(arguments[turn++ % arguments.size()], size, handle); }, warmups,
      repetitions);
}

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

void print_internals(const Program& program, LaunchSize size) {
  for (const TensorSpec& spec : program.internals()) {
    const auto shape = shape_of(spec, program.manifest(), size);
    print("  {:<16} {:.1f} MB, {} {}\n", spec.name, megabytes(byte_count(spec.dtype, shape)), name_of(spec.dtype),
          shape_text(shape));
  }
  if (program.internals().empty()) return;
  print("  extra memory     {:.1f} MB\n", megabytes(internal_bytes(program, size)));
}

int bench(const Options& options) {
  const LaunchSize size = parse_shape(options.shape);
  const Subject subject = subject_from(options.subject, options.config);
  expect_gpu("bench");
  const Runnable runnable = runnable_from(subject);
  const Program program = load_program(subject, runnable, Target::cuda);
  const Program timed = runnable.passes == Passes::backward ? program.only(Direction::backward) : program;
  const std::int64_t bytes = bytes_moved(manifests_of(timed), size);

  mlir::MLIRContext context;
  const auto module = rec::parse(subject.reference(runnable.manifest), subject.origin, context);
  const Device device = Device::current();
  const Case small = small_case(rec::recurrence_of(*module), runnable.manifest, size);
  const std::vector<Placed> placed = place_sets(device, program, size, small, bytes);
  const double ms = median_ms(device, program, timed, size, placed);
  const double copy_ms = copy_bytes_ms(device, bytes);
  print("{} on {}, {}, shape {}{}\n", runnable.manifest.op, device.properties().name, runnable.manifest.config,
        options.shape, pass_text(runnable.passes));
  print("  median           {:.4f} ms of {} launches\n", ms, repetitions);
  print("  bandwidth        {:.0f} GB/s of {:.1f} MB, every tensor moved once{}\n",
        static_cast<double>(bytes) / ms / 1e6, megabytes(bytes), timed.kernels().size() > 1 ? " by every kernel" : "");
  print("  copy             {:.4f} ms for as many bytes; {} {:.2f} times as long\n", copy_ms,
        timed.kernels().size() > 1 ? "the kernels take" : "the kernel takes", ms / copy_ms);
  print_internals(program, size);
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
