// Where a kernel runs. Internal to the runtime.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/cubin.h"
#include "runtime/cuda/driver.h"
#include "runtime/manifest/manifest.h"
#include "runtime/packed.h"

namespace wkvc {

class Backend {
 public:
  virtual ~Backend() = default;

  // Makes what a launch with such arguments needs, if it is not there: anything that may fail before it runs.
  virtual void prepare(std::span<const std::byte> /*arguments*/) const {}
  virtual void run(unsigned blocks, std::span<const std::byte> arguments, StreamHandle stream) const = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) const = 0;
  virtual void fill(void* to, unsigned char value, std::size_t bytes, StreamHandle stream) const = 0;
  // Why the kernel cannot reach memory at `data`, to go behind "which"; empty when it can, or nobody can tell.
  virtual std::string why_unreachable(const void* data) const = 0;
  virtual CubinUsage usage() const = 0;
};

// One for every kernel of a text: from the text, which is compiled for each of them, or from cubins of all.
using Backends = std::vector<std::shared_ptr<const Backend>>;
Backends make_cuda_backends(std::shared_ptr<const std::string> source, std::span<const Manifest> manifests);
Backends make_cuda_backends(const PackedProgram& packed, std::span<const Manifest> manifests);
Backends make_host_backends(const std::string& source, std::span<const Manifest> manifests);

}  // namespace wkvc
