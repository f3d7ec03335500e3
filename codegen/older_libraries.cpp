// Functions that LLVM's archives call, and that the C and C++ libraries of Ubuntu 22.04 and RHEL 9 lack or have under
// an older version of their symbol only. As they are defined here, libwkvc.so needs nothing newer.
#include <sys/random.h>
#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>

// glibc has it since 2.36.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
  }
  return number;
}

// std::condition_variable::wait, of which gcc 12's library has a newer version, GLIBCXX_3.4.30, that does the same.
extern "C" void wkvc_wait_3_4_11(std::condition_variable* condition, std::unique_lock<std::mutex>* lock);
__asm__(".symver wkvc_wait_3_4_11, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");

extern "C" void wkvc_wait(std::condition_variable* condition, std::unique_lock<std::mutex>* lock) __asm__(
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
extern "C" void wkvc_wait(std::condition_variable* condition, std::unique_lock<std::mutex>* lock) {
  wkvc_wait_3_4_11(condition, lock);
}
