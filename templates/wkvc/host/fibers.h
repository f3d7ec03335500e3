// Warps of a cluster as fibers of one thread: one of them runs until it waits, and then the next that can go on.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "wkvc/host/stack.h"
#include "wkvc/host/warp.h"

namespace wkvc::host {

class Fibers {
 public:
  // How many threads may run clusters side by side.
  static long long clusters_at_once() {
    static const unsigned cores = std::thread::hardware_concurrency();
    return cores;
  }

  // That no fiber can go on is seen at once, without a clock.
  Fibers(int count, double /*stall_seconds*/) : fibers_(static_cast<std::size_t>(count)) {}

  // Calls run_warp(n) on the fiber of each warp n. Returns when all calls have.
  void run(const std::function<void(int)>& run_warp) {
    run_warp_ = &run_warp;
    for (Fiber& fiber : fibers_) start(fiber);
    running_ = fibers_.size() - 1;
    pass_on(caller_);
  }

  // Lets others go on until done() holds, and returns true; false as soon as no fiber can go on.
  template <class Done>
  bool wait(Done& done) {
    if (done()) return true;
    Fiber& self = fibers_[running_];
    self.can_go_on = std::ref(done);
    yield();
    self.can_go_on = nullptr;
    return done();
  }

  // Lets the next one go on.
  void yield() { pass_on(fibers_[running_].context); }

 private:
  struct Fiber : Warp {
    Stack stack;
    ucontext_t context;
    Fibers* all;
    std::function<bool()> can_go_on;  // empty: yes
    bool has_ended;
  };

  void start(Fiber& fiber) {
    fiber.all = this;
    fiber.has_ended = false;
    fiber.copies.clear();
    ::getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.bytes();
    fiber.context.uc_link = nullptr;
    ::makecontext(&fiber.context, &Fibers::enter, 0);
  }

  static void enter() { static_cast<Fiber*>(running_warp())->all->run_fiber(); }

  void run_fiber() {
    (*run_warp_)(static_cast<int>(running_));
    fibers_[running_].has_ended = true;
    yield();
  }

  // Leaves `from` for the next fiber; where all have ended, for the caller of run().
  void pass_on(ucontext_t& from) {
    Fiber* const next = choose_next();
    running_warp() = next;
    ucontext_t& to = next != nullptr ? next->context : caller_;
    if (&to != &from) ::swapcontext(&from, &to);
  }

  // Makes the next fiber that can go on the running one, and returns it. Where none can, the next that waits learns so;
  // null where all have ended.
  Fiber* choose_next() {
    const std::size_t count = fibers_.size(), last = running_;
    Fiber* waiting = nullptr;
    for (std::size_t n = 1; n <= count; ++n) {
      const std::size_t i = (last + n) % count;
      Fiber& fiber = fibers_[i];
      if (fiber.has_ended) continue;
      const bool can_go_on = !fiber.can_go_on || fiber.can_go_on();
      if (!can_go_on && waiting != nullptr) continue;
      running_ = i;
      if (can_go_on) return &fiber;
      waiting = &fiber;
    }
    return waiting;
  }

  std::vector<Fiber> fibers_;
  std::size_t running_ = 0;
  ucontext_t caller_;
  const std::function<void(int)>* run_warp_ = nullptr;
};

}  // namespace wkvc::host
