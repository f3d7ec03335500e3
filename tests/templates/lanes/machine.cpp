#include "lanes/machine.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

namespace wkvc::lanes_machine {

namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
constexpr unsigned kRankShift = 24;
Machine* running_machine = nullptr;

}  // namespace

Machine::Machine(int threads, long long shared_bytes, int blocks)
    : threads_(threads), lanes_(threads * blocks), warps_(threads * blocks / 32), blocks_(blocks) {
  for (Block& block : blocks_) block.shared.resize((shared_bytes + sizeof(Line) - 1) / sizeof(Line) + 1);
}

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

void Machine::run_cluster(unsigned cluster, const std::function<void()>& kernel) {
  running_machine = this;
  cluster_ = cluster;
  kernel_ = &kernel;
  for (Block& block : blocks_) {
    std::memset(block.shared.data(), 0xff, block.shared.size() * sizeof(Line));
    std::fill(std::begin(block.barriers), std::end(block.barriers), Meeting{});
  }
  all_ = Meeting{};
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
    meeting.any = meeting.said;
    meeting.said = false;
    ++meeting.generation;
  }
  while (meeting.generation == generation) yield();
}

void Machine::meet_block(int id, int threads) { meet(blocks_[rank()].barriers[id], threads); }
bool Machine::meet_block_any(int id, int threads, bool flag) {
  Meeting& meeting = blocks_[rank()].barriers[id];
  meeting.said |= flag;
  meet(meeting, threads);
  return meeting.any;
}
void Machine::meet_cluster() { meet(all_, static_cast<int>(lanes_.size())); }

std::uint32_t Machine::address_of(const void* p) {
  const auto offset = static_cast<std::uint32_t>(static_cast<const char*>(p) - shared_memory());
  return address_in(offset, rank());
}
std::uint32_t Machine::address_in(std::uint32_t address, int rank) const {
  return (address & ((1U << kRankShift) - 1)) | static_cast<std::uint32_t>(rank) << kRankShift;
}
void* Machine::at(std::uint32_t address) {
  return blocks_.at(address >> kRankShift).shared.data()->bytes + (address & ((1U << kRankShift) - 1));
}

const Mail& Machine::exchange(const std::uint32_t* registers, int count) {
  Warp& warp = warps_[running_ / 32];
  Mail& mail = warp.mail[lanes_[running_].exchanges++ % 2];
  std::copy_n(registers, count, mail[running_ % 32]);
  meet(warp.meeting, 32);
  return mail;
}

}  // namespace wkvc::lanes_machine
