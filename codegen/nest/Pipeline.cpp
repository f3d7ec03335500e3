#include "codegen/nest/Pipeline.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

using namespace mlir;

namespace wkvc::nest {
namespace {

enum class Step { put, get, release };

struct Event {
  Step step;
  ChannelOp channel;
  std::int64_t number;  // of the tile, in the order in which it is put
  std::int64_t chunk;
  std::int64_t copy;  // that does it; every one where it is negative
  Operation* op;
};

// Returns the copies of a role in all blocks of a cluster.
std::int64_t all_copies(RoleOp role) { return static_cast<std::int64_t>(role.getCopies()) * blocks_of(role); }

// Returns how many of them do a step.
std::int64_t copies_of(const Event& event) { return event.copy < 0 ? all_copies(role_of(event.op)) : 1; }

// A role, and its steps on channels in their order.
class Trace {
 public:
  Trace(RoleOp role, std::int64_t chunks) : role_(role) { walk(role.getBody().front(), 0, chunks, 0); }

  RoleOp role() const { return role_; }
  const std::vector<Event>& events() const { return events_; }
  // Returns the chunks of the tiles that a step is of, in order.
  std::vector<std::int64_t> chunks_of(Step step, ChannelOp channel) const {
    std::vector<std::int64_t> chunks;
    for (const Event& event : events_)
      if (event.step == step && event.channel == channel) chunks.push_back(event.chunk);
    return chunks;
  }

  // Returns the step of a tile, which there is.
  const Event& find(Step step, ChannelOp channel, std::int64_t number) const {
    return *std::ranges::find_if(events_, [&](const Event& event) {
      return event.step == step && event.channel == channel && event.number == number;
    });
  }

  // Returns an operation that does such a step; null where none does.
  Operation* op_of(Step step, ChannelOp channel) const {
    const auto found = std::ranges::find_if(
        events_, [&](const Event& event) { return event.step == step && event.channel == channel; });
    return found == events_.end() ? nullptr : found->op;
  }

 private:
  // The operations of a block for one chunk, or for the chunks from `first` on that a sweep in it goes over.
  void walk(Block& block, std::int64_t first, std::int64_t count, std::int64_t chunk) {
    for (Operation& op : block) {
      if (auto sweep_op = dyn_cast<SweepOp>(op)) sweep(sweep_op, first, count);
      if (auto put = dyn_cast<PutOp>(op)) add(Step::put, put.getChannel(), chunk, &op);
      if (auto get = dyn_cast<GetOp>(op)) add(Step::get, get.getChannel(), chunk, &op);
      if (auto release = dyn_cast<ReleaseOp>(op)) add(Step::release, release.getChannel(), chunk, &op);
      if (auto load = dyn_cast<LoadOp>(op); load && load.getAhead() == 0) add(Step::put, load.getChannel(), chunk, &op);
    }
  }

  void sweep(SweepOp sweep, std::int64_t first, std::int64_t count) {
    const std::int64_t size = static_cast<std::int64_t>(sweep.getSize().value_or(1)), steps = count / size;
    const auto at = [&](std::int64_t step) { return first + (sweep.getBackward() ? steps - 1 - step : step) * size; };
    Block& body = sweep.getBody().front();
    const std::int64_t around = copy_;
    for (std::int64_t step = -most_ahead(body); step < steps; ++step) {
      for (LoadOp load : body.getOps<LoadOp>()) {
        const auto ahead = static_cast<std::int64_t>(load.getAhead());
        if (ahead != 0 && step >= -ahead && step + ahead < steps)
          add(Step::put, load.getChannel(), at(step + ahead), load);
      }
      if (step < 0) continue;
      copy_ = sweep.getDealt() ? step % all_copies(role_) : around;
      walk(body, at(step), size, at(step));
    }
    copy_ = around;
  }

  static std::int64_t most_ahead(Block& body) {
    std::int64_t most = 0;
    for (LoadOp load : body.getOps<LoadOp>()) most = std::max(most, static_cast<std::int64_t>(load.getAhead()));
    return most;
  }

  void add(Step step, Value channel, std::int64_t chunk, Operation* op) {
    auto of = channel.getDefiningOp<ChannelOp>();
    events_.push_back({step, of, numbers_[{step, of.getOperation()}]++, chunk, copy_, op});
  }

  RoleOp role_;
  std::int64_t copy_ = -1;
  std::map<std::pair<Step, Operation*>, std::int64_t> numbers_;
  std::vector<Event> events_;
};

// The roles that use a channel.
struct Ends {
  const Trace* producer = nullptr;
  std::vector<const Trace*> consumers;
  const Trace* replacer = nullptr;  // the consumer that puts other tiles in the place of those that it gets
  ChannelOp over;                   // the channel of those tiles
};

class Pipeline {
 public:
  explicit Pipeline(KernelOp kernel) {
    const std::int64_t chunks = chunks_for(kernel);
    for (RoleOp role : kernel.getBody().getOps<RoleOp>()) traces_.emplace_back(role, chunks);
    for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
      Ends& ends = ends_[channel];
      for (const Trace& trace : traces_) {
        if (trace.op_of(Step::put, channel) != nullptr) ends.producer = &trace;
        if (trace.op_of(Step::get, channel) != nullptr) ends.consumers.push_back(&trace);
      }
    }
    for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
      if (!channel.getOver()) continue;
      Ends& under = ends_[channel.getOver().getDefiningOp()];
      under.over = channel;
      under.replacer = ends_[channel].producer;
    }
  }

  LogicalResult verify() {
    for (ChannelOp channel : traces_.front().role()->getParentOfType<KernelOp>().getBody().getOps<ChannelOp>())
      if (failed(verify_order(channel))) return failure();
    return run();
  }

 private:
  // As many chunks as all slots are used twice in, and whole groups.
  static std::int64_t chunks_for(KernelOp kernel) {
    std::int64_t deepest = 1, group = 1;
    kernel.walk([&](ChannelOp channel) { deepest = std::max(deepest, static_cast<std::int64_t>(channel.getDepth())); });
    kernel.walk(
        [&](SweepOp sweep) { group = std::lcm(group, static_cast<std::int64_t>(sweep.getSize().value_or(1))); });
    return (2 * deepest + 2 + group - 1) / group * group + group;
  }

  // Every consumer gets what is put, in the same order, and releases each tile, or puts another one in its place.
  LogicalResult verify_order(ChannelOp channel) {
    const Ends& ends = ends_[channel];
    const auto put = ends.producer->chunks_of(Step::put, channel);
    for (const Trace* consumer : ends.consumers) {
      if (consumer->chunks_of(Step::get, channel) != put)
        return consumer->op_of(Step::get, channel)->emitOpError()
               << "role '" << consumer->role().getSymName() << "' gets other chunks, or in another order, than role '"
               << ends.producer->role().getSymName() << "' puts";
      const bool replaces = consumer == ends.replacer;
      const auto released = consumer->chunks_of(Step::release, channel);
      if (replaces ? !released.empty() : released != put)
        return consumer->op_of(Step::get, channel)->emitOpError()
               << "role '" << consumer->role().getSymName() << "' "
               << (replaces ? "releases a tile whose place it takes" : "does not release each tile that it gets");
    }
    return success();
  }

  struct Process {
    const Trace* trace;
    std::vector<const Event*> events;
    std::size_t next = 0;
  };

  std::vector<Process> processes() const {
    std::vector<Process> all;
    for (const Trace& trace : traces_)
      for (std::int64_t copy = 0; copy < all_copies(trace.role()); ++copy) {
        Process process{&trace, {}};
        for (const Event& event : trace.events())
          if (event.copy < 0 || event.copy == copy) process.events.push_back(&event);
        all.push_back(std::move(process));
      }
    return all;
  }

  // Each copy of a role goes on while nothing holds it up.
  LogicalResult run() {
    std::vector<Process> all = processes();
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (Process& process : all)
        for (; process.next < process.events.size(); ++process.next, goes_on = true) {
          const Event& event = *process.events[process.next];
          if (!may(event)) break;
          ++done_[{event.step, event.channel, process.trace, event.number}];
        }
    }
    return verify_end(all);
  }

  LogicalResult verify_end(const std::vector<Process>& all) const {
    const auto stuck = [](const Process& process) { return process.next < process.events.size(); };
    const auto first = std::ranges::find_if(all, stuck);
    if (first == all.end()) return success();
    InFlightDiagnostic error = first->events[first->next]->op->emitOpError()
                               << "roles wait for each other for ever: '" << first->trace->role().getSymName()
                               << "' here, in chunk " << first->events[first->next]->chunk
                               << "; a channel of greater depth may help, or another order";
    for (auto other = first + 1; other != all.end(); ++other)
      if (stuck(*other))
        error.attachNote(other->events[other->next]->op->getLoc())
            << "'" << other->trace->role().getSymName() << "' waits here, in chunk "
            << other->events[other->next]->chunk;
    return error;
  }

  bool may(const Event& event) const {
    if (event.step == Step::release) return true;
    if (event.step == Step::get) return is_put(event.channel, event.number);
    ChannelOp channel = event.channel;
    if (!channel.getOver()) return is_free(event.channel, event.number);
    const auto under = channel.getOver().getDefiningOp<ChannelOp>();
    return is_put(under, event.number) && is_released(under, event.number, ends_.at(channel).producer);
  }

  bool is_put(ChannelOp channel, std::int64_t number) const {
    const Trace* const producer = ends_.at(channel).producer;
    return count(Step::put, channel, *producer, number) == copies_of(producer->find(Step::put, channel, number));
  }

  // Returns whether no consumer reads a tile any more; `replacer`, if any, does not release tiles.
  bool is_released(ChannelOp channel, std::int64_t number, const Trace* replacer) const {
    return llvm::all_of(ends_.at(channel).consumers, [&](const Trace* consumer) {
      return consumer == replacer || count(Step::release, channel, *consumer, number) ==
                                         copies_of(consumer->find(Step::release, channel, number));
    });
  }

  // Returns whether the slot of a tile is free: nobody reads the tile before it there, or the one in its place.
  bool is_free(ChannelOp channel, std::int64_t number) const {
    const std::int64_t before = number - static_cast<std::int64_t>(channel.getDepth());
    if (before < 0) return true;
    const Ends& ends = ends_.at(channel);
    if (!is_released(channel, before, ends.replacer)) return false;
    return !ends.over || (is_put(ends.over, before) && is_released(ends.over, before, nullptr));
  }

  std::int64_t count(Step step, ChannelOp channel, const Trace& trace, std::int64_t number) const {
    const auto found = done_.find({step, channel.getOperation(), &trace, number});
    return found == done_.end() ? 0 : found->second;
  }

  std::vector<Trace> traces_;
  std::map<Operation*, Ends> ends_;
  std::map<std::tuple<Step, Operation*, const Trace*, std::int64_t>, std::int64_t> done_;  // copies that did a step
};

}  // namespace

LogicalResult verify_pipeline(KernelOp kernel) { return Pipeline(kernel).verify(); }

}  // namespace wkvc::nest
