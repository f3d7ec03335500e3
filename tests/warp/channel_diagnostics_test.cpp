// What the warp dialect refuses of a kernel that has two channels.
#include "tests/warp/cases.h"

namespace wkvc::test {
namespace {

// How a kernel hands over a row by each of two channels, as its lines say it. Empty lines are left out.
struct TwoChannels {
  std::string extra = "%extra = warp.channel depth 1 offset 496 bytes 1008";
  std::string more = "%more = warp.floats in %extra offset 512 live 0 to 1 : !warp.tile<16xf32, plain>";
  std::string acquire = "warp.acquire %extra", fill = "warp.store_vector %g, %more : ", put = "warp.put %extra";
  std::string get = "warp.get %extra", read = "%f = warp.load_vector %more : ", release = "warp.release %extra";
};

std::string line(const std::string& text) { return text + "\n"; }

// The channels are at lines 2 and 3, the team's part from line 8 on, the sweep over a round from line 22 on.
std::string text_of(const TwoChannels& of) {
  const std::string row = "!warp.tile<1x16xf32, fragments>", floats = "!warp.tile<16xf32, plain>";
  const std::string state = "!warp.tile<16x32xf32, fragments>";
  return line(
             "warp.kernel \"f\" for \"f\" warps 3 schedule #wkvc.schedule<grid(blocks = 1), prepare(teams = 2, warps = "
             "1)> chunk 16 head 32 x 16 shared 4096 compute \"f16\" arch \"sm_90a\" tensors [\"input g f32 B,T,H\", "
             "\"initial_state initial f32 B,H,V,K\", \"final_state final f32 B,H,V,K\"] {") +
         line("%slots = warp.channel depth 2 offset 0 bytes 496") + line(of.extra) +
         line("%row = warp.floats in %slots offset 0 live 0 to 1 : " + floats) + line(of.more) +
         line("warp.role prepare first 1 warps 2 { warp.sweep over rounds { warp.team {") +
         line("%g = warp.tokens \"g\" as f32 : " + row) + line("warp.acquire %slots") + line(of.acquire) +
         line("warp.on_warp 0 {") + line("warp.store_vector %g, %row : " + row + ", " + floats) +
         line(of.fill.empty() ? "" : of.fill + row + ", " + floats) + line("}") + line("warp.put %slots") +
         line(of.put) + line("} } }") + line("warp.role state first 0 warps 1 {") +
         line("%S0 = warp.load_state \"initial\" : " + state) +
         line("%S_end = warp.sweep over rounds carry %S0 : " + state + " { ^bb0(%S_round: " + state + "):") +
         line("%S_next = warp.sweep over round carry %S_round : " + state + " {") + line("^bb0(%S: " + state + "):") +
         line("warp.get %slots") + line(of.get) + line("%e = warp.load_vector %row : " + floats + " -> " + row) +
         line(of.read.empty() ? "" : of.read + floats + " -> " + row) + line("warp.release %slots") + line(of.release) +
         line("warp.yield %S : " + state + " }") + line("warp.yield %S_next : " + state + " }") +
         line("warp.store_state \"final\" %S_end : " + state + " } }");
}

TEST(TwoChannels, AreTakenWithNumbersOfTheirOwn) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  EXPECT_NO_THROW(parse(text_of({}), context));
  EXPECT_NO_THROW(parse(text_of({.extra = "%extra = warp.channel depth 2 offset 496 bytes 496"}), context));
}

struct Mistake {
  const char* name;
  TwoChannels kernel;
  const char* error;
};
void PrintTo(const Mistake& mistake, std::ostream* stream) { *stream << mistake.name; }

class OfTwoChannels : public testing::TestWithParam<Mistake> {};

TEST_P(OfTwoChannels, IsRefused) { expect_contains(error_of(text_of(GetParam().kernel)), GetParam().error); }

const Mistake mistakes[] = {
    {"NoGet", {.get = ""}, "line 3: 'warp.channel' op needs a warp.get where a sweep over a round begins"},
    {"NoRelease", {.release = ""}, "line 3: 'warp.channel' op needs a warp.release where a sweep over a round ends"},
    {"NoAcquire", {.acquire = ""}, "line 3: 'warp.channel' op needs a warp.acquire where a team begins its part"},
    {"NoPut", {.put = ""}, "line 3: 'warp.channel' op needs a warp.put where a team ends its part"},
    {"TwoPuts",
     {.put = "warp.put %extra warp.put %extra"},
     "line 15: 'warp.put' op names a channel that another one before it names"},
    {"GetOfTheOther",
     {.get = "warp.get %extra warp.get %slots"},
     "line 23: 'warp.get' op names a channel that another one before it"},
    {"PutByTheConsumer",
     {.get = "warp.get %extra warp.put %extra"},
     "line 23: 'warp.put' op belongs where a team ends its part"},
    {"TwoWriters",
     {.read = "warp.store_vector %e, %more : !warp.tile<1x16xf32, fragments>, !warp.tile<16xf32, plain> "
              "%f = warp.load_vector %more : "},
     "line 25: 'warp.store_vector' op is to a slot for its team alone to write to"},
    {"NoConsumerOfOpenChannel",
     {.acquire = "", .put = "", .get = "", .read = "", .release = ""},
     "line 3: 'warp.channel' op is read by no role; expected a sweep over a round that loads from a slot"},
    {"NoProducerOfOpenChannel",
     {.acquire = "", .fill = "", .put = "", .get = "", .release = ""},
     "line 3: 'warp.channel' op is filled by no team; expected one that stores to a slot"},
    {"OffsetOfTheOther",
     {.more = "%more = warp.floats in %extra offset 448 live 0 to 1 : !warp.tile<16xf32, plain>"},
     "line 5: 'warp.floats' op bytes 448 to 512 of 496 to 1504"},
    {"BehindTheSlot",
     {.more = "%more = warp.floats in %extra offset 1504 live 0 to 1 : !warp.tile<16xf32, plain>"},
     "line 5: 'warp.floats' op bytes 1504 to 1568 of 496 to 1504"},
    {"Gap",
     {.extra = "%extra = warp.channel depth 1 offset 512 bytes 1008"},
     "line 3: 'warp.channel' op begins at byte 512; expected 496, where the channel before it ends"},
    {"Depth",
     {.extra = "%extra = warp.channel depth 4 offset 496 bytes 1008"},
     "line 3: 'warp.channel' op has 4 slots for each chunk of a round; expected 1 to 2"},
    {"Bytes",
     {.extra = "%extra = warp.channel depth 2 offset 496 bytes 1008"},
     "line 3: 'warp.channel' op makes 6144 bytes of shared memory with what lies before it, not 4096"},
};

INSTANTIATE_TEST_SUITE_P(Warp, OfTwoChannels, testing::ValuesIn(mistakes),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wkvc::test
