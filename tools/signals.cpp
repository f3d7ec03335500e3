#include "tools/signals.h"

#include <signal.h>
#include <unistd.h>

#include <system_error>
#include <thread>

#include "runtime/base/files.h"

namespace wkvc {
namespace {

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction current{};
    // What whoever started this wants ignored (nohup) stays ignored; waiting for it would receive it.
    if (::sigaction(signal, nullptr, &current) == 0 && current.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  return signals;
}

void wait_and_end(const sigset_t& signals) {
  int signal = 0;
  if (::sigwait(&signals, &signal) != 0) return;
  leave_nothing_behind();
  ::_exit(128 + signal);
}

}  // namespace

void clean_up_on_signals() {
  const sigset_t signals = ending_signals();
  if (::pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return;
  try {
    std::thread([signals] { wait_and_end(signals); }).detach();
  } catch (const std::system_error&) {
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // no thread to be had: they end the process as ever
  }
}

}  // namespace wkvc
