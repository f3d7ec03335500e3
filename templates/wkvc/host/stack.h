// The stack of a fiber, of the size that threads have. The system gives a page when it is touched, and none below.
#pragma once

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <system_error>

namespace wkvc::host {

class Stack {
 public:
  // Throws std::system_error where the machine has no memory for the stack.
  Stack() : bytes_(bytes_of_threads()), mapping_(map(guard_bytes() + bytes_), {guard_bytes() + bytes_}) {
    if (::mprotect(data(), bytes_, PROT_READ | PROT_WRITE) != 0) fail();
  }

  char* data() const { return mapping_.get() + guard_bytes(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(char* mapping) const { ::munmap(mapping, bytes); }
  };

  [[noreturn]] static void fail() { throw std::system_error(errno, std::generic_category()); }

  static std::size_t guard_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

  static std::size_t bytes_of_threads() {
    pthread_attr_t attributes;
    std::size_t bytes = 0;
    ::pthread_getattr_default_np(&attributes);
    ::pthread_attr_getstacksize(&attributes, &bytes);
    ::pthread_attr_destroy(&attributes);
    return bytes;
  }

  // Returns pages that nobody may touch.
  static char* map(std::size_t bytes) {
    void* const mapping = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) fail();
    return static_cast<char*>(mapping);
  }

  std::size_t bytes_;
  std::unique_ptr<char, Unmap> mapping_;
};

}  // namespace wkvc::host
