// Places as text: how they print, and what is refused as they are read.
#include <gmock/gmock.h>

#include "codegen/passes/place/PlaceKernel.h"
#include "codegen/passes/place/PlacedText.h"
#include "tests/chunk_programs.h"
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
  write_placement(placed.placement());
  EXPECT_TRUE(is_placed(placed.program()));
  const std::string text = print(placed.program());
  EXPECT_THAT(text, HasSubstr("%ex = chunk.exp %x {at = #wkvc.place<owner = slab, phase = 0>} : tensor<16x32xf32>"));
  EXPECT_THAT(text, HasSubstr("phases = #wkvc.phases<warps = 3, whole = 1>"));
  Placed again(text);
  const Placement read = read_placement(again.program());
  EXPECT_EQ(read.division(), placed.placement().division());
  for (const char* name : {"x", "v", "S", "ex"}) EXPECT_EQ(read.of(again.op(name)), placed[name]) << name;
}

std::string fault_of(const std::string& place) {
  return user_error_of([&] { Placed(with("  %ex = chunk.exp %x {at = #wkvc." + place + "} : tensor<16x32xf32>\n")); });
}

TEST(Text, OfUnknownFieldsIsRefused) {
  expect_contains(fault_of("place<owner = nobody>"),
                  "a place has owner = nobody; expected anyone or slab or matrix or rows");
  expect_contains(fault_of("place<stage = 1>"),
                  "a place has no part 'stage'; expected owner, columns, warp, phase, last, storage");
  expect_contains(fault_of("place<phase = 1, phase = 2>"), "'phase' is given twice");
  expect_contains(fault_of("spot<phase = 1>"),
                  "wkvc has no attribute 'spot'; expected #wkvc.schedule<...>, #wkvc.place<...> or #wkvc.phases<...>");
}

TEST(Text, WithoutPlacesIsRefused) {
  Placed placed(with(""));
  expect_contains(user_error_of([&] { read_placement(placed.program()); }), "has no phases = #wkvc.phases<...>");
  write_placement(placed.placement());
  placed.op("S")->removeAttr("at");
  expect_contains(user_error_of([&] { read_placement(placed.program()); }),
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

bool recomputes(const std::string& program) { return program.find("recompute") < program.find('\n'); }

// One that has no scales anyway is for the plain backward program and for the refused one, which get one each.
TEST(Pass, PutsAProgramThatRecomputesBeforeItsBackwardProgram) {
  const Config config{.pass = "both", .save_every = 64, .saved = "f16", .scales = "guarded"};
  const std::vector<std::string> programs = programs_in(lower_to(rwkv6_source(config), Stage::chunk, config));
  ASSERT_EQ(programs.size(), 6U);
  std::string shared = programs[2];
  const std::string plain = "plain = [\"k\", \"v\"], ";
  ASSERT_NE(shared.find(plain), std::string::npos) << shared.substr(0, 200);
  shared.erase(shared.find(plain), plain.size());
  const Source source = source_from(programs[0] + programs[1] + shared + programs[4] + programs[5]);
  const std::string text = lower_to(source, Stage::placed, {});
  const std::vector<std::string> placed = programs_in(text);
  ASSERT_EQ(placed.size(), 6U);
  for (std::size_t i = 0; i < placed.size(); ++i) EXPECT_EQ(recomputes(placed[i]), i == 2 || i == 4) << i;
  EXPECT_EQ(lower_to(source_from(text), Stage::cuda, {}), lower_to(source, Stage::cuda, {}));
  const Source unpaired = source_from(placed[2] + placed[0] + placed[1]);
  expect_contains(user_error_of([&] { lower_to(unpaired, Stage::placed, {}); }),
                  "the program that recomputes states of 'rwkv6' is not right before a backward program");
}

// The summary of gradients without scales comes third, that of what the kernel refuses fourth.
TEST(Pass, DealsSummariesToAsManyTeamsAsHaveRoom) {
  Config config{.pass = "both", .saved = "f16", .scales = "guarded"};
  config.teams = config.backward_teams = 2;
  config.backward_segments = 4;
  const auto schedule_of = [&](int head, std::size_t number, Stage stage = Stage::placed) {
    config.key_dim = config.value_dim = head;
    const std::string program = programs_in(lower_to(rwkv7_source(config), stage, config)).at(number);
    EXPECT_THAT(program, HasSubstr("summary = "));
    return program.substr(0, program.find('\n'));
  };
  EXPECT_THAT(schedule_of(64, 2, Stage::chunk), HasSubstr("prepare(teams = 2)"));
  EXPECT_THAT(schedule_of(64, 2), HasSubstr("prepare(teams = 8)"));
  EXPECT_THAT(schedule_of(64, 3), HasSubstr("prepare(teams = 2)"));
  EXPECT_THAT(schedule_of(128, 2), HasSubstr("prepare(teams = 4)"));
}

// A team has a named barrier of its own, of which a block has 15 to give.
TEST(Pass, DealsSummariesToNoMoreTeamsThanABlockMayHave) {
  Config config{.key_dim = 32, .segments = 2};
  for (const int value_dim : {240, 256}) {  // and 16 rows of a map: 16 or 17 warps
    config.value_dim = value_dim;
    EXPECT_NO_THROW(lower_to(rwkv6_source(config), Stage::cuda, config)) << value_dim;
  }
}

// Places settle the schedule.
TEST(Pass, SettlesMemoryAndBlocks) {
  EXPECT_THAT(emitted(Stage::chunk), Not(HasSubstr("memory(")));
  EXPECT_THAT(emitted(Stage::placed), HasSubstr("memory(keep = "));
  EXPECT_THAT(emitted(Stage::placed), HasSubstr("blocks = "));
}

}  // namespace
}  // namespace wkvc::test
