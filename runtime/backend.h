// Where a kernel runs. Internal to the runtime.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/cubin.h"
#include "runtime/driver.h"
#include "runtime/manifest.h"

namespace wkvc {

class Backend {
 public:
  virtual ~Backend() = default;

  virtual void run(unsigned blocks, std::span<const std::byte> arguments, StreamHandle stream) const = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) const = 0;
  virtual void set_zero(void* to, std::size_t bytes, StreamHandle stream) const = 0;
  virtual CubinUsage usage() const = 0;
};

std::unique_ptr<const Backend> make_cuda_backend(const std::string& source, const Manifest& manifest);
std::unique_ptr<const Backend> make_host_backend(const std::string& source, const Manifest& manifest);

}  // namespace wkvc
