// A function that LLVM's archives call, and that the C libraries of Ubuntu 22.04 and RHEL 9 lack.
#include <sys/random.h>
#include <sys/types.h>

#include <cstdint>

// glibc has it since 2.36.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
  }
  return number;
}
