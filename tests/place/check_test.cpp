// Edited places: what is refused, with which message, and what is not.
#include <gmock/gmock.h>

#include <functional>

#include "codegen/passes/place/CheckPlaces.h"
#include "codegen/passes/place/PlaceKernel.h"
#include "codegen/schedule/PlaceAttr.h"
#include "tests/expect_error.h"
#include "tests/place/placed.h"
#include "tests/place/sources.h"

namespace wkvc::test {
namespace {

constexpr const char* lines = R"(  %ex = chunk.exp %x : tensor<16x32xf32>
  %a = chunk.dot %ex over 1, %ex over 1 : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x16xf32>
  %lower = chunk.tril %a : tensor<16x16xf32>
  %p = chunk.dot %lower over 1, %v over 0 : tensor<16x16xf32>, tensor<16x48xf32> -> tensor<16x48xf32>
  chunk.output "y" %p as "f32" : tensor<16x48xf32>
)";

class Edited {
 public:
  Edited() : placed_(with(lines)) { place_kernel(placed_.program(), {}); }

  Edited& change(const std::string& name, const std::function<void(ValuePlace&)>& edit) {
    mlir::Operation* op = placed_.op(name);
    ValuePlace place = op->getAttrOfType<PlaceAttr>("at").getValue();
    edit(place);
    op->setAttr("at", PlaceAttr::get(op->getContext(), place));
    return *this;
  }
  Edited& divide(const std::function<void(Phases&)>& edit) {
    Phases phases = placed_.program()->getAttrOfType<PhasesAttr>("phases").getValue();
    edit(phases);
    placed_.program()->setAttr("phases", PhasesAttr::get(placed_.program().getContext(), phases));
    return *this;
  }
  Edited& reschedule(const std::function<void(Schedule&)>& edit) {
    placed_.program().reschedule(edit);
    return *this;
  }

  void check() { check_places(placed_.program(), {}); }
  std::string fault() {
    return user_error_of([&] { check(); });
  }

 private:
  Placed placed_;
};

TEST(Check, TakesWhatThePassChooses) { EXPECT_NO_THROW(Edited().check()); }

TEST(Check, TakesAnotherWarpForAMatrix) {
  const auto to = [](int warp) { return [warp](ValuePlace& place) { place.warp = warp; }; };
  EXPECT_NO_THROW(Edited().change("a", to(2)).change("lower", to(2)).check());
  expect_contains(
      Edited().change("a", to(2)).fault(),
      "'lower' is made by warp 0 of registers that hold 'a', which warp 2 makes; expected one warp for both");
  expect_contains(Edited().change("a", to(3)).fault(), "'a' has warp = 3; expected warp = 0 to 2");
  expect_contains(Edited().change("a", to(-1)).fault(), "'a' has no warp; expected warp = 0 to 2");
  expect_contains(Edited().change("ex", to(1)).fault(), "'ex' has warp = 1, which matrices have; its owner is slab");
}

TEST(Check, RefusesOwnersThatIndicesDoNotHave) {
  expect_contains(Edited().change("ex", [](auto& place) { place.owner = Owner::rows; }).fault(),
                  "'ex' has the owner rows; by what its rows and columns are it is slab");
  expect_contains(Edited().change("ex", [](auto& place) { place.columns = Columns::values; }).fault(),
                  "'ex' has slabs of values; expected keys");
}

TEST(Check, RefusesPhasesBeforeOperandsAreThere) {
  const auto to = [](int phase) { return [phase](ValuePlace& place) { place.phase = place.last = phase; }; };
  expect_contains(Edited().change("a", to(0)).fault(),
                  "'a' is in phase 0 and reads 'ex', which is there from phase 1 on");
  expect_contains(Edited().change("p", to(3)).fault(), "'p' is in phase 3; expected 0 to 2");
}

TEST(Check, TakesLaterPhases) {
  const auto later = [](ValuePlace& place) { ++place.phase, ++place.last; };
  Edited edited;
  edited.divide([](Phases& phases) { ++phases.whole; });
  edited.change("a", later).change("lower", later).change("p", later).change("ex", [](auto& place) { ++place.last; });
  edited.change("v", [](auto& place) { ++place.last; });
  // The output of p is where p is.
  expect_contains(edited.fault(), "'y' is in phase 2 and reads 'p', which is there from phase 3 on");
}

TEST(Check, RefusesStorageThatReadersDoNotFind) {
  expect_contains(
      Edited().change("ex", [](auto& place) { place.storage = Storage::registers; }).fault(),
      "'ex' has storage = registers until phase 1; by what reads it, it takes storage = shared until phase 1");
  expect_contains(Edited().change("ex", [](auto& place) { place.last = 0; }).fault(),
                  "'ex' has storage = shared until phase 0; by what reads it, it takes storage = shared until phase 1");
  expect_contains(Edited().change("x", [](auto& place) { place.storage = Storage::held; }).fault(),
                  "'x' has storage = held until phase 0; by what reads it, it takes storage = registers until phase 0");
}

TEST(Check, RefusesDivisionsThatTheScheduleDoesNotHave) {
  expect_contains(Edited().divide([](Phases& phases) { phases.warps = 2; }).fault(),
                  "phases of 'example' are of 2 warps; its schedule deals each chunk to 3");
  expect_contains(Edited().divide([](Phases& phases) { phases = {.warps = 3, .prepare = 1, .states = 1}; }).fault(),
                  "'example' has warps = 3, prepare = 1, states = 1 phases; its schedule takes whole, and no others");
  expect_contains(Edited().divide([](Phases& phases) { phases.finished = Finished::shares; }).fault(),
                  "can't be one share for each warp; expected blocks");
  expect_contains(Edited().divide([](Phases& phases) { phases.together = true; }).fault(),
                  "go through its chunks apart; expected no sweeps = together");
}

TEST(Check, RefusesSchedulesThatArePartlyOpenOrImpossible) {
  expect_contains(Edited().reschedule([](Schedule& schedule) { schedule.memory = {}; }).fault(),
                  "leaves memory or grid");
  expect_contains(Edited().reschedule([](Schedule& schedule) { schedule.memory.prefetch = Ahead::groups; }).fault(),
                  "has memory(prefetch = groups), which its kernel can't copy ahead; expected none or inputs");
  expect_contains(Edited().reschedule([](Schedule& schedule) { schedule.grid.blocks = 32; }).fault(), "--blocks 32");
}

// A whole text: a matrix of rwkv7 goes to another warp, and the kernel follows.
TEST(Check, EditedTextsBecomeKernels) {
  const std::string text = lower_to(rwkv7_source({}), Stage::placed, {});
  std::string edited = text;
  const std::string from = "owner = matrix, warp = 1", to = "owner = matrix, warp = 3";
  ASSERT_NE(edited.find(from), std::string::npos);
  for (std::size_t at = 0; (at = edited.find(from, at)) != std::string::npos;) edited.replace(at, from.size(), to);
  const std::string kernel = lower_to(source_from(edited), Stage::warp, {});
  EXPECT_NE(kernel, lower_to(source_from(text), Stage::warp, {}));
  EXPECT_NE(kernel.find("warp.on_warp 3"), std::string::npos) << kernel;
}

TEST(Check, PlacesNeedTheirPhases) {
  std::string text = lower_to(rwkv7_source({}), Stage::placed, {});
  const std::size_t begin = text.find("phases = "), end = text.find(">, ", begin) + 3;
  text.erase(begin, end - begin);
  expect_contains(user_error_of([&] { lower_to(source_from(text), Stage::warp, {}); }),
                  "has a place, but the program of 'rwkv7' has no phases");
}

// Some of the texts in which `to` stands for `from` once.
std::vector<std::string> edits_of(const std::string& text, const std::string& from, const std::string& to) {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += from.size()) places.push_back(at);
  EXPECT_FALSE(places.empty()) << from;
  std::vector<std::string> edits;
  for (std::size_t i = 0; i < places.size(); i += places.size() / 6 + 1) {
    edits.push_back(text);
    edits.back().replace(places[i], from.size(), to);
  }
  return edits;
}

// Whether a text is a kernel; else there is a message for its user. Another error fails the test.
bool is_kernel(const std::string& text) {
  try {
    return !lower_to(source_from(text), Stage::cuda, {}).empty();
  } catch (const UserError&) {
    return false;
  }
}

TEST(Check, AnyChangeIsAKernelOrAMessage) {
  const Config config{.key_dim = 32, .value_dim = 32, .backward_teams = 2, .pass = "both", .scales = "guarded"};
  const std::string text = lower_to(rwkv6_source(config), Stage::placed, config);
  const auto kernels = [&](const std::string& from, const std::string& to) {
    return llvm::count_if(edits_of(text, from, to), is_kernel);
  };
  EXPECT_GT(kernels("last = 1", "last = 2"), 0) << "a longer life is possible";
  EXPECT_EQ(kernels("storage = shared", "storage = held"), 0);
  EXPECT_EQ(kernels("owner = slab", "owner = rows"), 0);
  EXPECT_EQ(kernels("owner = rows", "owner = anyone"), 0);
  EXPECT_EQ(kernels("storage = stand_in", "storage = shared"), 0);
  EXPECT_EQ(kernels(", storage = shared", ""), 0);
  for (const auto& [from, to] : {std::pair{"phase = 0", "phase = 1"},
                                 {"phase = 1", "phase = 0"},
                                 {"phase = 1", "phase = 2"},
                                 {"phase = 2", "phase = 3"},
                                 {"warp = 0", "warp = 1"}})
    EXPECT_LT(kernels(from, to), 6) << from;
}

}  // namespace
}  // namespace wkvc::test
