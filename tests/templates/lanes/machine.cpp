#include "lanes/machine.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

namespace wkvc::lanes_machine {

namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
Machine* running_machine = nullptr;

}  // namespace

Machine::Machine(int threads, long long shared_bytes)
    : lanes_(threads), warps_(threads / 32), shared_((shared_bytes + sizeof(Line) - 1) / sizeof(Line)) {}

Machine& Machine::current() { return *running_machine; }

void Machine::enter() {
  Machine& machine = current();
  try {
    (*machine.kernel_)();
  } catch (...) {
    machine.error_ = std::current_exception();  // does not pass from one stack to another
  }
  machine.lanes_[machine.running_].done = true;
  machine.note_progress();
  machine.yield();
}

void Machine::start(Lane& lane) {
  if (!lane.stack) lane.stack = std::make_unique<char[]>(kStackBytes);
  lane.done = false;
  lane.copies.clear();
  getcontext(&lane.context);
  lane.context.uc_stack.ss_sp = lane.stack.get();
  lane.context.uc_stack.ss_size = kStackBytes;
  lane.context.uc_link = nullptr;
  makecontext(&lane.context, &Machine::enter, 0);
}

void Machine::yield() { swapcontext(&lanes_[running_].context, &scheduler_); }

// Lets every lane run until it waits. False when all of them are done.
bool Machine::run_round() {
  bool any = false;
  progressed_ = false;
  for (running_ = 0; running_ < static_cast<int>(lanes_.size()); ++running_) {
    if (lanes_[running_].done) continue;
    any = true;
    swapcontext(&scheduler_, &lanes_[running_].context);
  }
  return any;
}

void Machine::run_block(unsigned block, const std::function<void()>& kernel) {
  running_machine = this;
  block_ = block;
  kernel_ = &kernel;
  std::memset(shared_.data(), 0xff, shared_.size() * sizeof(Line));
  std::fill(std::begin(barriers_), std::end(barriers_), Meeting{});
  for (Warp& warp : warps_) warp.meeting = Meeting{};
  for (Lane& lane : lanes_) start(lane);
  while (run_round()) {
    if (error_) std::rethrow_exception(error_);
    if (!progressed_) throw std::runtime_error("the lanes wait for each other");
  }
}

void Machine::meet(Meeting& meeting, int threads) {
  const unsigned generation = meeting.generation;
  note_progress();
  if (++meeting.arrived == threads) {
    meeting.arrived = 0;
    ++meeting.generation;
  }
  while (meeting.generation == generation) yield();
}

void Machine::meet_block(int id, int threads) { meet(barriers_[id], threads); }

const Mail& Machine::exchange(const std::uint32_t* registers, int count) {
  Warp& warp = warps_[running_ / 32];
  Mail& mail = warp.mail[lanes_[running_].exchanges++ % 2];
  std::copy_n(registers, count, mail[running_ % 32]);
  meet(warp.meeting, 32);
  return mail;
}

}  // namespace wkvc::lanes_machine
