// wkvc bench: median time on the GPU, and the time of a copy that moves as many bytes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/search/task.h"
#include "checking/advice.h"
#include "checking/execute.h"
#include "checking/output.h"
#include "checking/subject.h"
#include "checking/timing.h"
#include "checking/traffic.h"
#include "checking/values/magnitudes.h"
#include "codegen/config/config.h"
#include "runtime/error.h"
#include "runtime/launch/internals.h"
#include "runtime/launch/measure.h"
#include "tools/commands/commands.h"
#include "tools/commands/lockfile_option.h"

namespace wkvc {
namespace {

struct BenchOptions {
  SubjectOptions subject;
  ConfigOptions config;
  LockfileOption lockfile;
  std::string shape;
  std::optional<std::string> input;
};

constexpr int warmups = 10, repetitions = 100;

std::vector<Manifest> manifests_of(const Program& program) {
  std::vector<Manifest> manifests;
  for (const Kernel& kernel : program.kernels()) manifests.push_back(kernel.manifest());
  return manifests;
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

int bench(const BenchOptions& options) {
  const LaunchSize size = parse_shape(options.shape);
  Subject subject = subject_from(options.subject, options.config);
  expect_gpu("bench");
  const bool backward_alone = subject.config.pass == "backward";
  subject.config = with_forward(subject.config);  // whose settings calls of a backward pass have
  const std::string settings = options.lockfile.settle(subject, size, gpu_here(Target::cuda, subject.config.arch));
  Runnable runnable = runnable_from(subject);
  if (backward_alone) runnable.passes = Passes::backward;
  advise(subject);
  const Program program = load_program(subject, runnable, Target::cuda);
  const Program timed = runnable.passes == Passes::backward ? program.only(Direction::backward) : program;
  const std::int64_t bytes = bytes_moved(manifests_of(timed), size);

  mlir::MLIRContext context;
  const auto module = rec::parse(subject.reference(runnable.manifest), subject.origin, context);
  const Device device = Device::current();
  const rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  const TimingData data = timing_data(recurrence, runnable.manifest, size, options.input);
  const TimedTensors tensors(device, data, runnable.manifest, size);
  const std::vector<Refusals> refusals = tensors.refusals(program);
  if (refusing_many(refusals) != nullptr)
    print("{}\n", warning_text(refusals, magnitudes_text(recurrence, runnable.manifest, data.values)));
  const double ms = tensors.median_ms(program, timed, warmups, repetitions);
  const double copy_ms = copy_bytes_ms(device, bytes);
  print("{} on {}, {}, shape {}{}\n", runnable.manifest.op, device.properties().name, runnable.manifest.config,
        options.shape, pass_text(runnable.passes));
  print("  settings         {}\n", settings);
  print("  inputs           {}\n", data.origin);
  print("  median           {:.4f} ms of {} launches\n", ms, repetitions);
  print("  bandwidth        {:.0f} GB/s of {:.1f} MB, every tensor moved once{}\n",
        static_cast<double>(bytes) / ms / 1e6, megabytes(bytes), timed.kernels().size() > 1 ? " by every kernel" : "");
  print("  copy             {:.4f} ms for as many bytes; {} {:.2f} times as long\n", copy_ms,
        timed.kernels().size() > 1 ? "the kernels take" : "the kernel takes", ms / copy_ms);
  for (const std::string& text : refusal_texts(refusals)) print("  {}\n", text);
  print_internals(program, size);
  return exit_passed;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Median time on the GPU");
  const auto options = std::make_shared<BenchOptions>();
  options->subject.add_to(*command, /*with_source=*/true);
  command->add_option("--shape", options->shape, "Batch, tokens, heads")->required()->type_name("B,T,H");
  command->add_option("--input", options->input, std::string(timed_input_help))->type_name("FILE");
  options->lockfile.add_to(*command);
  options->config.add_to(*command);
  command->callback([&action, options] { action = [options] { return bench(*options); }; });
}

}  // namespace wkvc
