// Places as text: how they print, and what is refused as they are read.
#include <gmock/gmock.h>

#include "codegen/passes/place/PlaceKernel.h"
#include "tests/expect_error.h"
#include "tests/place/placed.h"
#include "tests/place/sources.h"

namespace wkvc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Text, SaysTheLastPhaseWhereItIsAnother) {
  EXPECT_EQ(text_of(ValuePlace{.owner = Owner::slab, .phase = 1, .last = 1}), "owner = slab, phase = 1");
  EXPECT_EQ(text_of(ValuePlace{.owner = Owner::matrix, .warp = 2, .phase = 0, .last = 3, .storage = Storage::shared}),
            "owner = matrix, warp = 2, phase = 0, last = 3, storage = shared");
  EXPECT_EQ(text_of(Phases{.warps = 4, .whole = 3}), "warps = 4, whole = 3");
  EXPECT_EQ(text_of(Phases{
                .warps = 2, .prepare = 2, .states = 2, .finish = 1, .prepared = Prepared::strips, .together = true}),
            "warps = 2, prepare = 2, prepared = strips, states = 2, sweeps = together, finish = 1");
}

TEST(Text, IsReadBackAsItWasWritten) {
  Placed placed(with("  %ex = chunk.exp %x : tensor<16x32xf32>\n"));
  placed.placement().write();
  EXPECT_TRUE(is_placed(placed.program()));
  const std::string text = print(placed.program());
  EXPECT_THAT(text, HasSubstr("%ex = chunk.exp %x {at = #wkvc.place<owner = slab, phase = 0>} : tensor<16x32xf32>"));
  EXPECT_THAT(text, HasSubstr("phases = #wkvc.phases<warps = 3, whole = 1>"));
  Placed again(text);
  const Placement read = Placement::read(again.program());
  EXPECT_EQ(read.division(), placed.placement().division());
  for (const char* name : {"x", "v", "S", "ex"}) EXPECT_EQ(read.of(again.op(name)), placed[name]) << name;
}

std::string fault_of(const std::string& place) {
  return user_error_of([&] { Placed(with("  %ex = chunk.exp %x {at = #wkvc." + place + "} : tensor<16x32xf32>\n")); });
}

TEST(Text, OfUnknownFieldsIsRefused) {
  expect_contains(fault_of("place<owner = nobody>"),
                  "a place has no such owner; expected anyone or slab or matrix or rows");
  expect_contains(fault_of("place<stage = 1>"),
                  "a place has no part 'stage'; expected owner, columns, warp, phase, last, storage");
  expect_contains(fault_of("place<phase = 1, phase = 2>"), "'phase' is given twice");
  expect_contains(fault_of("spot<phase = 1>"),
                  "wkvc has no attribute 'spot'; expected #wkvc.schedule<...>, #wkvc.place<...> or #wkvc.phases<...>");
}

TEST(Text, WithoutPlacesIsRefused) {
  Placed placed(with(""));
  expect_contains(user_error_of([&] { Placement::read(placed.program()); }), "has no phases = #wkvc.phases<...>");
  placed.placement().write();
  placed.op("S")->removeAttr("at");
  expect_contains(user_error_of([&] { Placement::read(placed.program()); }),
                  "'S' has no place; expected at = #wkvc.place<...>");
}

std::string emitted(Stage stage, const Config& config = {}) { return lower_to(rwkv7_source(config), stage, config); }

TEST(Pass, PrintsPlacesAfterPlaceAlone) {
  const Source source = rwkv7_source({});
  EXPECT_THAT(dump_after(source, "place", {}), HasSubstr("at = #wkvc.place<"));
  EXPECT_EQ(dump_after(source, "place", {}), emitted(Stage::placed));
  EXPECT_THAT(dump_after(source, "slice", {}), Not(HasSubstr("#wkvc.place")));
  EXPECT_THAT(emitted(Stage::chunk), Not(HasSubstr("#wkvc.place")));
  EXPECT_EQ(source_from(emitted(Stage::placed)).stage, Stage::placed);
}

// Places settle the schedule.
TEST(Pass, SettlesMemoryAndBlocks) {
  EXPECT_THAT(emitted(Stage::chunk), Not(HasSubstr("memory(")));
  EXPECT_THAT(emitted(Stage::placed), HasSubstr("memory(keep = "));
  EXPECT_THAT(emitted(Stage::placed), HasSubstr("blocks = "));
}

}  // namespace
}  // namespace wkvc::test
