// Shared memory of one block, aligned like the GPU's.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace wkvc::host {

class SharedMemory {
 public:
  explicit SharedMemory(long long bytes)
      : bytes_(static_cast<std::size_t>(bytes)), data_(static_cast<char*>(::operator new(bytes_, kAlignment))) {}

  char* data() const { return data_.get(); }
  void poison() const { std::memset(data(), 0xff, bytes_); }  // NaN in every dtype

 private:
  static constexpr std::align_val_t kAlignment{128};
  struct Free {
    void operator()(char* p) const { ::operator delete(p, kAlignment); }
  };

  std::size_t bytes_;
  std::unique_ptr<char, Free> data_;
};

}  // namespace wkvc::host
