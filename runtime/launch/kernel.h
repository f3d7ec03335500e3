// An emitted kernel, ready to launch.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/cubin.h"
#include "runtime/cuda/driver.h"
#include "runtime/launch/launch_plan.h"
#include "runtime/launch/launch_size.h"
#include "runtime/manifest/manifest.h"
#include "runtime/packed.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {

class Backend;

enum class Target {
  cuda,  // NVRTC; tensors in the memory of the GPU that is current at load (GPU 0 if none is)
  host,  // the system's C++ compiler; tensors in host memory
};

// What is looked at before a launch. Nothing is launched when it is not what it should be.
enum class Checks {
  layout,  // the number of tensors, dtypes, shapes, strides, alignment, overlaps: no call of the driver
  memory,  // also that the kernel's GPU reaches the memory: a call of the driver for each tensor, of 0.1 to 0.5 µs
};

class Kernel {
 public:
  // Compiles the text that wkvc emitted, which holds one kernel (for several, see Program). Copies share what was
  // compiled. Throws UserError: a manifest that is missing or malformed, no compiler for
  // the target, no GPU, more shared memory than the GPU has; InternalError: the text does not compile.
  static Kernel load(std::string source, Target target);

  const Manifest& manifest() const { return manifest_; }
  const std::string& source() const { return *source_; }
  Target target() const { return target_; }
  CubinUsage usage() const;  // cuda only, else UserError
  int registers() const { return usage().registers; }

  // Launches on `stream` and returns: nothing is allocated and nothing waited for (the host target returns when the
  // kernel has run). But the first launch with a tensor [B,T,H,D] of which data, rows or strides are no multiples of 16
  // bytes makes a kernel for such tensors: it compiles unless the kernel was packed or is in the cache, and belongs
  // before any stream captures. Tensors come in the manifest's order; Tensor{} leaves a state or the gradient of one
  // out: what is given is zero then, and what is a result nobody asked for. The last dimension is contiguous, other
  // strides are free; what is written has memory of its own, except that a final state may be its initial state. With T
  // = 0 the final state is the initial one, and the gradient of the initial state is that of the final one. Throws
  // UserError naming the tensor, what was given and what was expected. Memory that the GPU cannot reach is an error
  // only with Checks::memory; else it is a fault of the kernel.
  void launch(std::span<const Tensor> tensors, LaunchSize size, StreamHandle stream = nullptr,
              Checks checks = Checks::layout) const;

 private:
  friend class Program;
  Kernel(std::shared_ptr<const std::string> source, Target target, Manifest manifest,
         std::shared_ptr<const Backend> backend);

  // Of every kernel in the text; with `packed`, which was made of it, cuda compiles nothing.
  static std::vector<Kernel> load_all(std::string source, Target target, const PackedProgram* packed = nullptr);
  // Returns why the kernel does not run a launch that its program does; empty where the kernel does.
  std::string why_not(std::span<const Tensor> tensors, LaunchSize size, std::span<const std::size_t> places = {}) const;
  // Says of all blocks that the kernel refuses them, for the next kernel.
  void refuse_all(std::span<const Tensor> tensors, StreamHandle stream, std::span<const std::size_t> places) const;
  // Without checks, for sizes that are not empty; `places` as LaunchArguments have them.
  void prepare(std::span<const Tensor> tensors, LaunchSize size, std::span<const std::size_t> places = {}) const;
  void run(std::span<const Tensor> tensors, LaunchSize size, StreamHandle stream,
           std::span<const std::size_t> places = {}) const;

  std::shared_ptr<const std::string> source_;
  Target target_;
  Manifest manifest_;
  LaunchPlan plan_;
  std::shared_ptr<const Backend> backend_;
};

}  // namespace wkvc
