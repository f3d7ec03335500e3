// An emitted kernel, ready to launch.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "runtime/cubin.h"
#include "runtime/driver.h"
#include "runtime/launch_size.h"
#include "runtime/manifest.h"
#include "runtime/tensor.h"

namespace wkvc {

class Backend;

enum class Target {
  cuda,  // NVRTC; tensors in the memory of the GPU that is current at load (GPU 0 if none is)
  host,  // the system's C++ compiler; tensors in host memory
};

class Kernel {
 public:
  // Compiles the text that wkvc emitted. Throws UserError: a manifest that is missing or malformed, no compiler for
  // the target, no GPU, more shared memory than the GPU has; InternalError: the text does not compile.
  static Kernel load(std::string source, Target target);

  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();

  const Manifest& manifest() const { return manifest_; }
  const std::string& source() const { return source_; }
  Target target() const { return target_; }
  CubinUsage usage() const;  // cuda only, else UserError
  int registers() const { return usage().registers; }

  // Launches on `stream` and returns: nothing is allocated and nothing waited for (the host target returns when the
  // kernel has run). Tensors come in the manifest's order; Tensor{} leaves a state out: an initial state of zeros, a
  // final state nobody asked for. The last dimension is contiguous, other strides are free; what is written has memory
  // of its own, except that a final state may be its initial state. With T = 0 the final state is the initial one.
  // Throws UserError naming the tensor, what was given and what was expected.
  void launch(std::span<const Tensor> tensors, LaunchSize size, StreamHandle stream = nullptr) const;

 private:
  Kernel(std::string source, Target target);

  std::string source_;
  Target target_;
  Manifest manifest_;
  std::unique_ptr<const Backend> backend_;
};

}  // namespace wkvc
