// Declared lifetimes hold every use. Phases are the stretches between barriers in which tiles or rows are used; what a
// team prepares, what value rows make of that, and what the team makes of theirs have phases of their own.
#include <llvm/ADT/SetVector.h>

#include <map>

#include "codegen/warp/verify/Accesses.h"
#include "codegen/warp/verify/Rules.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

int64_t from(Operation* declaration) { return declaration->getAttrOfType<IntegerAttr>("from").getInt(); }
int64_t to(Operation* declaration) { return declaration->getAttrOfType<IntegerAttr>("to").getInt(); }

class Lifetimes {
 public:
  explicit Lifetimes(KernelOp kernel) : started_(has_slots(kernel)) {}

  // Of what is done in these blocks, one after the other.
  LogicalResult verify(llvm::ArrayRef<Block*> blocks) {
    stretches_.emplace_back();
    for (Block* block : blocks) collect(*block);
    number_phases();
    for (Operation* declaration : used_)
      if (failed(verify(declaration))) return failure();
    return success();
  }

 private:
  // From a barrier to the next one, or to where others than a team's warps go on.
  struct Stretch {
    bool is_phase = false;
    int64_t phase = 0;
    llvm::SetVector<Operation*> used;
  };

  void collect(Block& block) {
    for (Operation& op : block) {
      if (isa<AgainOp>(op)) continue;  // a sequence of its own
      if (isa<BarrierOp>(op)) {
        stretches_.emplace_back();
        started_ = true;
      }
      for (const Access& access : accesses_of(&op)) use(access);
      for (Region& region : op.getRegions()) collect(region.front());
    }
  }

  void use(const Access& access) {
    if (!started_ || !access.buffer->hasAttr("from")) return;
    const bool by_team = static_cast<bool>(access.op->getParentOfType<TeamOp>());
    if (by_team != by_team_) stretches_.emplace_back();
    by_team_ = by_team;
    stretches_.back().is_phase |= makes_phase(access.op);
    stretches_.back().used.insert(access.buffer);
    used_.insert(access.buffer);
  }

  // From the first one of which something is declared. Numbers of phases in which there is nothing to do are left out.
  void number_phases() {
    const int64_t first = first_phase();
    int64_t phase = first - 1;
    for (Stretch& stretch : stretches_) {
      if (stretch.is_phase && ++phase > first)
        for (Operation* declaration : stretch.used)
          if (begins_later(declaration, phase)) phase = from(declaration);
      stretch.phase = std::max(phase, first);
    }
  }

  int64_t first_phase() const {
    auto stretch = llvm::find_if(stretches_, [](const Stretch& x) { return x.is_phase; });
    if (stretch == stretches_.end()) return 0;
    int64_t first = std::numeric_limits<int64_t>::max();
    for (Operation* declaration : stretch->used)
      if (from(declaration) <= to(declaration)) first = std::min(first, from(declaration));
    return first == std::numeric_limits<int64_t>::max() ? 0 : first;
  }

  // What lives over the end of a round is in use in early phases and in late ones.
  static bool begins_later(Operation* declaration, int64_t phase) {
    return from(declaration) > phase && (from(declaration) <= to(declaration) || phase > to(declaration));
  }

  LogicalResult verify(Operation* declaration) const {
    int64_t first = -1, last = -1;
    bool holds = true;
    for (const Stretch& stretch : stretches_) {
      if (!stretch.used.contains(declaration)) continue;
      if (first < 0) first = stretch.phase;
      last = stretch.phase;
      holds &= lives_in(from(declaration), to(declaration), last);
    }
    if (holds) return success();
    return declaration->emitOpError() << "is declared live " << from(declaration) << " to " << to(declaration)
                                      << ", but barriers and uses make it live " << first << " to " << last;
  }

  bool started_;  // what precedes a chunk's first barrier belongs to the last phase of the one before
  bool by_team_ = false;
  std::vector<Stretch> stretches_;
  llvm::SetVector<Operation*> used_;
};

}  // namespace

LogicalResult verify_lifetimes(KernelOp kernel) {
  llvm::SmallVector<llvm::SmallVector<Block*>> sequences;
  std::map<Work, Block*> by_role;  // what is prepared comes first
  kernel.walk<WalkOrder::PreOrder>([&](Operation* op) {
    auto loop = dyn_cast<SweepOp>(op);
    if (loop && (loop.getOver() == Over::chunks || loop.getOver() == Over::group))
      sequences.push_back({&loop.getBody().front()});
    if (isa<AgainOp>(op)) sequences.push_back({&op->getRegion(0).front()});
    if (loop && loop.isOverRounds()) by_role[loop->getParentOfType<RoleOp>().getWork()] = &loop.getBody().front();
  });
  if (!by_role.empty()) sequences.emplace_back(llvm::map_range(by_role, [](auto& role) { return role.second; }));
  for (const auto& sequence : sequences)
    if (failed(Lifetimes(kernel).verify(sequence))) return failure();
  return success();
}

}  // namespace wkvc::warp
