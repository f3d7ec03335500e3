// Warps that touch the same bytes of shared memory have a barrier in between, unless all of them read; copies are
// waited for before that; and what is read is still there. Each loop is followed for a few turns, with all its copies.
#include "codegen/warp/verify/Races.h"

#include <deque>

#include "codegen/warp/Channels.h"
#include "codegen/warp/verify/Rules.h"

using namespace mlir;

namespace wkvc::warp {

namespace {

constexpr int64_t kTurns = 3;             // of sweeps over chunks
constexpr int64_t kRounds = 4;            // of which the second does not go again
constexpr int64_t kGroups[] = {1, 3, 2};  // chunks of groups that are run through one after the other

class Races {
 public:
  explicit Races(KernelOp kernel) : kernel_(kernel), by_groups_(has_groups()) { find_places(); }

  // Returns the first race in the order of a warp, if there is one.
  std::optional<Race> first() {
    (void)follow(kernel_.getBody().front());
    return race_;
  }

 private:
  // Of phases at which all warps may meet, and of those at which a team's warps may.
  template <class T>
  struct Phases {
    T of_all, of_team;

    const T& of(bool team) const { return team ? of_team : of_all; }
    void set(bool team, T to) {
      of_team = to;
      if (!team) of_all = to;
    }
  };

  // A declaration, or a stage of a ring.
  struct Place {
    Operation* declaration;
    llvm::SmallVector<Bytes, 2> bytes;
    llvm::SmallVector<unsigned> overlaps;  // other places
    llvm::SmallVector<Access> recent;      // since the last barrier of all warps
    unsigned ordered = 0;                  // so many of those precede the last barrier of the team
    Phases<unsigned> earlier = {};         // so many of those precede the last phase
    Operation* copy = nullptr;             // under way
    Operation* overwritten = nullptr;      // by what belongs to another place
  };
  struct Copy {
    Operation* op;
    unsigned place;
    Access access;
  };

  bool has_groups() {
    return llvm::any_of(role_of(kernel_, Work::state).getBody().getOps<SweepOp>(),
                        [](SweepOp sweep) { return sweep.getOver() == Over::groups; });
  }

  //===- Places --------------------------------------------------------------------------------------------------===//

  void find_places() {
    kernel_.walk([&](Operation* op) {
      if (!is_declaration(op)) return;
      first_place_[op] = static_cast<unsigned>(places_.size());
      for (int64_t stage = 0; stage < stages_of(op); ++stage) places_.push_back({op, bytes_of(op, stage), {}, {}});
    });
    for (unsigned x = 0; x < places_.size(); ++x)
      for (unsigned y = 0; y < places_.size(); ++y)
        if (x != y && overlap(places_[x], places_[y])) places_[x].overlaps.push_back(y);
  }

  static bool overlap(const Place& x, const Place& y) {
    return llvm::any_of(
        x.bytes, [&](const Bytes& a) { return llvm::any_of(y.bytes, [&](const Bytes& b) { return a.overlap(b); }); });
  }

  // In a ring, that of a chunk so many turns ahead.
  unsigned place_of(Operation* declaration, int64_t ahead) const {
    return first_place_.lookup(declaration) + static_cast<unsigned>((turn_ + ahead) % stages_of(declaration));
  }

  //===- In the order of a warp ----------------------------------------------------------------------------------===//

  LogicalResult follow(Block& block) {
    for (Operation& op : block)
      if (failed(follow(&op))) return failure();
    return success();
  }

  LogicalResult follow(Operation* op) {
    if (auto loop = dyn_cast<SweepOp>(op)) return follow_loop(loop);
    if (isa<AgainOp>(op) && round_ == 1) return success();
    if (auto phase = dyn_cast<PhaseOp>(op)) return begin(phase);
    if (isa<BarrierOp>(op)) return meet(/*team=*/static_cast<bool>(op->getParentOfType<TeamOp>()));
    if (isa<PutOp>(op)) (void)meet(/*team=*/true);  // of the team's warps, whatever they have touched
    if (isa<PutOp, GetOp>(op)) return hand_over(channel_named_by(op));
    if (auto copy = dyn_cast<CopyOp>(op)) return start(copy);
    if (auto copy = dyn_cast<CopySavedOp>(op)) return start(copy);
    if (isa<CommitCopiesOp>(op)) return commit();
    if (auto wait = dyn_cast<WaitCopiesOp>(op)) return wait_until(signed_value(wait.getPending()));
    for (const Access& access : accesses_of(op))
      if (failed(touch(access, place_of(access.buffer, 0)))) return failure();
    for (Region& region : op->getRegions())
      if (failed(follow(region.front()))) return failure();
    return success();
  }

  LogicalResult follow_turns(Block& body, int64_t turns) {
    for (turn_ = 0; turn_ < turns; ++turn_)
      if (failed(follow(body))) return failure();
    turn_ = 0;
    return success();
  }

  LogicalResult follow_loop(SweepOp loop) {
    Block& body = loop.getBody().front();
    if (loop.getOver() == Over::chunks) return follow_turns(body, kTurns);
    if (loop.getOver() == Over::group) return follow_turns(body, loop.getBackward() ? group_ : group_ - 1);
    if (loop.getOver() == Over::round) return follow(body);  // each of its chunks has a slot of its own
    if (loop.isOverRounds() && !loop.getState()) return follow_turns(body, kRounds);
    if (loop.isOverRounds()) {
      for (round_ = 0; round_ < kRounds; ++round_)
        if (failed(follow(body))) return failure();
      return success();
    }
    if (loop.getAhead() && failed(follow_group(body, 0))) return failure();  // it starts the first one's copies
    for (int64_t chunks : kGroups)
      if (failed(follow_group(body, std::min(chunks, kernel_.getSavedEvery())))) return failure();
    return success();
  }

  LogicalResult follow_group(Block& body, int64_t chunks) {
    group_ = chunks;
    return follow(body);
  }

  //===- Barriers and accesses -----------------------------------------------------------------------------------===//

  LogicalResult begin(PhaseOp phase) {
    const bool team = static_cast<bool>(phase->getParentOfType<TeamOp>());
    phase_.set(team, phase);
    for (Place& place : places_) place.earlier.set(team, static_cast<unsigned>(place.recent.size()));
    return success();
  }

  LogicalResult meet(bool team) {
    for (Place& place : places_) {
      if (!team) order(place);
      place.ordered = static_cast<unsigned>(place.recent.size());
    }
    return success();
  }

  // Orders accesses to slots of the channel.
  LogicalResult hand_over(ChannelOp channel) {
    for (Place& place : places_)
      if (channel_named_by(place.declaration) == channel) order(place);
    return success();
  }

  // Whoever accesses the place from here on has waited for all that is known of it.
  static void order(Place& place) {
    place.recent.clear();
    place.earlier = {};
    place.ordered = 0;
  }

  static bool is_of_matrix(Operation* op) { return isa<OnWarpOp>(op->getParentOp()) && makes_phase(op); }

  static bool by_same_warp(const Access& x, const Access& y, bool in_phase) {
    if (x.by_team != y.by_team || x.share != y.share || x.share.kind == Share::all) return false;
    if (x.share.kind != Share::one) return x.buffer == y.buffer;
    return in_phase || !(is_of_matrix(x.op) && is_of_matrix(y.op));
  }

  // The race of this access with one of `place`, if there is one.
  std::optional<Race> find_race(const Access& access, const Place& place) const {
    for (const auto& [number, other] : llvm::enumerate(place.recent)) {
      const bool of_team = access.by_team && other.by_team, in_phase = number >= place.earlier.of(of_team);
      const bool ordered = number < place.ordered && of_team;
      if ((access.writes || other.writes) && !ordered && !by_same_warp(access, other, in_phase))
        return Race{Race::unordered, access, other, in_phase ? PhaseOp() : phase_.of(of_team)};
    }
    return {};
  }

  LogicalResult touch(const Access& access, unsigned at) {
    if (failed(expect_alone(access, at))) return failure();
    Place& place = places_[at];
    for (unsigned other : place.overlaps)
      if (failed(expect_alone(access, other))) return failure();
    if (access.reads && place.overwritten) {
      race_ = {Race::overwritten, access, {place.overwritten}, {}};
      return failure();
    }
    if (access.writes) overwrite(access.op, place);
    remember(access, place);
    return success();
  }

  LogicalResult expect_alone(const Access& access, unsigned at) {
    const Place& place = places_[at];
    race_ = place.copy ? Race{Race::under_copy, access, {place.copy, place.declaration}, {}} : find_race(access, place);
    return failure(race_.has_value());
  }

  void overwrite(Operation* op, Place& place) {
    place.overwritten = nullptr;
    for (unsigned other : place.overlaps) places_[other].overwritten = op;
  }

  static void remember(const Access& access, Place& place) {
    const auto same = [&](const Access& other) {
      return other.writes == access.writes && other.by_team == access.by_team && other.share == access.share;
    };
    const unsigned known = std::max(place.ordered, place.earlier.of_team);
    if (llvm::none_of(llvm::drop_begin(place.recent, known), same)) place.recent.push_back(access);
  }

  //===- Copies --------------------------------------------------------------------------------------------------===//

  // Chunks that a ring's loop goes through.
  int64_t chunks_of(RingOp ring) const { return !by_groups_ ? kTurns : ring.getBackward() ? group_ : group_ - 1; }

  LogicalResult start(CopyOp copy) {
    auto ring = copy.getRing().getDefiningOp<RingOp>();
    const int64_t ahead = signed_value(copy.getAhead());
    if (!has_slots(kernel_) && !copy.getNext() && turn_ + ahead >= chunks_of(ring)) return success();
    const Share by{Share::one, signed_value(ring.getWarp())};
    return start(copy, place_of(ring, copy.getNext() ? -turn_ : ahead), by);
  }

  LogicalResult start(CopySavedOp copy) {
    const int64_t chunks = by_groups_ ? group_ : kTurns;
    if (!copy.getNext() && turn_ + signed_value(copy.getAhead()) >= chunks) return success();
    return start(copy, first_place_.lookup(copy.getStaged().getDefiningOp()), {Share::rows});
  }

  LogicalResult start(Operation* op, unsigned at, Share by) {
    const bool in_team = static_cast<bool>(op->getParentOfType<TeamOp>());
    const Access access{op, places_[at].declaration, /*reads=*/false, /*writes=*/true, in_team, by};
    if (failed(touch(access, at))) return failure();
    places_[at].copy = op;
    open_.push_back({op, at, access});
    return success();
  }

  LogicalResult commit() {
    committed_.push_back(std::move(open_));
    open_.clear();
    return success();
  }

  // What is there by then is there for the warp that copied it.
  LogicalResult wait_until(int64_t pending) {
    for (; static_cast<int64_t>(committed_.size()) > pending; committed_.pop_front())
      for (const Copy& copy : committed_.front()) {
        places_[copy.place].copy = nullptr;
        if (failed(touch(copy.access, copy.place))) return failure();
      }
    return success();
  }

  KernelOp kernel_;
  bool by_groups_;
  std::vector<Place> places_;
  llvm::DenseMap<Operation*, unsigned> first_place_;
  std::vector<Copy> open_;                   // not committed
  std::deque<std::vector<Copy>> committed_;  // the oldest first
  int64_t turn_ = 0, round_ = 0, group_ = 0;
  Phases<PhaseOp> phase_;
  std::optional<Race> race_;
};

}  // namespace

std::optional<Race> first_race(KernelOp kernel) { return Races(kernel).first(); }

}  // namespace wkvc::warp
