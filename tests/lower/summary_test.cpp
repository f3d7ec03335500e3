// Summaries of segments in float64: what they say of a segment is what the program does to any state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/chunk/Chunk.h"
#include "codegen/chunk/Interpreter.h"
#include "codegen/compiler.h"
#include "codegen/ir/Text.h"
#include "dsl/builtin.h"
#include "tests/chunk_programs.h"
#include "tests/expect_error.h"
#include "tests/lower/compare.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

using Array = std::vector<double>;

Config with_segments(int segments) {
  Config config;
  config.key_dim = 32;
  config.value_dim = 16;
  config.chunk = 16;
  config.segments = segments;
  return config;
}

std::string chunk_stage_text(const Definition& definition, const Config& config) {
  return lower_to({Stage::rec, rec_text(definition, config)}, Stage::chunk, config);
}

struct Programs {
  Programs(const Definition& definition, const std::string& pass) {
    Config config = with_segments(4);
    config.pass = pass;
    text = rec_text(definition, config);
    context.loadDialect<chunk::ChunkDialect>();
    module = parse(chunk_stage_text(definition, config), context);
    for (auto program : module->getBody()->getOps<chunk::ProgramOp>()) {
      if (program.getRecompute()) continue;
      (program.getSummary() ? summary : whole) = program;
    }
  }

  // The summary as its rows of the map have it: offsets are zero.
  chunk::ProgramOp map() {
    mlir::OpBuilder builder(summary);
    auto copy = llvm::cast<chunk::ProgramOp>(builder.clone(*summary));
    copy.walk([](chunk::OffsetOp op) {
      mlir::OpBuilder b(op);
      auto type = mlir::RankedTensorType::get({1, 1}, b.getF32Type());
      mlir::Value zero = chunk::ConstantOp::create(b, op.getLoc(), type, b.getF64FloatAttr(0), mlir::StringAttr());
      op.replaceAllUsesWith(chunk::MulOp::create(b, op.getLoc(), op.getType(), op.getX(), zero).getResult());
    });
    return copy;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string text;  // of the recurrence
  chunk::ProgramOp whole, summary;
};

// Its output is tanh of a read.
bool reads_through_a_function(const Definition& definition) { return definition.name == "gated_read"; }

// The state after the segment, from the one before it, is what the map makes of that one plus the offset.
void expect_composes(const Definition& definition, const std::string& pass) {
  Programs programs(definition, pass);
  ASSERT_TRUE(programs.summary) << definition.name;
  const rec::Shape shape{1, 40, 1};
  Problem problem = random_problem(programs.text, shape, {-0.01, -0.5, -1});
  Array saved;
  if (pass == "backward") {
    const rec::Result forward = run_rec(programs.text, problem);
    for (const auto& [name, values] : random_incoming(forward).outputs) problem.inputs["d" + name] = values;
    // What the forward program keeps may be anything: gradients of states are linear for any of it.
    for (auto input : programs.whole.getBody().getOps<chunk::InputOp>())
      if (input.getKept()) problem.inputs[input.getSym().str()].assign(40 * 16, 0.5);
    // States count for gradients of inputs alone.
    saved.assign((shape.tokens + 15) / 16 * problem.initial_state.size(), 1);
  }
  auto state_after = [&](chunk::ProgramOp program, const Array& before) {
    return chunk::interpret(program, shape, problem.inputs, before, saved.empty() ? nullptr : &saved).final_state;
  };
  const Array expected = state_after(programs.whole, problem.initial_state);
  Array composed = state_after(programs.map(), problem.initial_state);
  const Array offset = state_after(programs.summary, {});
  for (std::size_t i = 0; i < composed.size(); ++i) composed[i] += offset[i];
  EXPECT_LT(error_between({.outputs = {}, .final_state = composed}, {.outputs = {}, .final_state = expected}), 1e-10)
      << definition.name << " " << pass;
}

TEST(Summary, ComposesForward) {
  for (const Definition& definition : recurrences()) expect_composes(definition, "forward");
}

TEST(Summary, ComposesBackward) {
  for (const Definition& definition : recurrences())
    if (!reads_through_a_function(definition)) expect_composes(definition, "backward");
}

// Where an output is no linear function of the state, its gradient depends on the state.
TEST(Summary, OfGradientsNeedsOutputsThatAreLinearInTheState) {
  int count = 0;
  for (const Definition& definition : recurrences()) {
    if (!reads_through_a_function(definition)) continue;
    ++count;
    expect_contains(user_error_of([&] { Programs(definition, "backward"); }),
                    "an output that is no linear function of the state");
  }
  EXPECT_EQ(count, 1);
}

TEST(Summary, HasAnOffsetOfWhatIsWritten) {
  Programs programs(rwkv7(), "forward");
  const Problem problem = random_problem(programs.text, {1, 40, 1}, {});
  const Array offset = chunk::interpret(programs.summary, problem.shape, problem.inputs, {}, nullptr).final_state;
  EXPECT_TRUE(std::ranges::all_of(offset, [](double x) { return x != 0; }));
}

std::string map_of(const Definition& definition) { return Programs(definition, "forward").summary.getSummary()->str(); }

TEST(Summary, IsDiagonalWhereNothingContractsTheState) {
  EXPECT_EQ(map_of(rwkv6()), "diagonal");
  EXPECT_EQ(map_of(rwkv7()), "full");
}

// A function of v that is not zero at zero must not reach the map.
TEST(Summary, OffsetsComeAfterFunctionsThatAreNotZeroAtZero) {
  expect_composes(recurrence("shifted",
                             [](Recurrence& op) {
                               Dim K = op.key_dim(64), V = op.value_dim(64);
                               auto [q, k] = op.inputs(K, f32, "q", "k");
                               auto v = op.input("v", V, f32), gain = op.parameter("gain", V, f32);
                               op.compute(f32);
                               auto S = op.state("S", V, K, f32);
                               auto next = 0.5f * S + outer(sigmoid(v) + gain, k);
                               op.update(S, next);
                               op.output("o", dot(next, q), f32);
                             }),
                  "forward");
}

TEST(Summary, ASequenceThatIsWholeHasNone) {
  const std::string text = chunk_stage_text(rwkv7(), with_segments(0));
  EXPECT_EQ(text.find("summary"), std::string::npos);
  EXPECT_EQ(text.find("segments"), std::string::npos);
}

TEST(Summary, RefusesCountsThatAreNone) {
  expect_contains(user_error_of([] { chunk_stage_text(rwkv7(), with_segments(1000)); }),
                  "--segments 1000: expected 1 to 256");
}

// A plain program and the one behind it need their summaries before both, in an order that only this pass makes.
// A segment's states lie behind those of the segment before, as far away as kernels count.
TEST(Summary, LeavesRoomForTheStatesOfASegment) {
  Config config = with_segments(2);
  config.key_dim = config.value_dim = 128;
  config.pass = "both";
  config.save_every = 16384;
  const auto emitted = [&] { return lower_to({Stage::rec, rec_text(rwkv7(), config)}, Stage::cuda, config); };
  expect_contains(user_error_of(emitted), "give --save-every 16368 or less");
  config.save_every = 16368;
  EXPECT_NO_THROW(emitted());
  config.save_every = 16384;
  config.segments = 1;
  EXPECT_NO_THROW(emitted());
}

TEST(Summary, OfGuardedProgramsMayNotBeDeleted) {
  Config config = with_segments(4);
  config.mma = "f16";
  config.scales = "guarded";
  const std::string text = chunk_stage_text(rwkv7(), config);
  std::string rest = text.substr(0, text.find("chunk.program"));
  for (const std::string& program : programs_in(text))
    if (program.find("summary = ") > program.find('\n')) rest += program;
  ASSERT_LT(rest.size(), text.size());
  expect_contains(user_error_of([&] { lower_to(source_from(rest), Stage::cuda, {}); }),
                  "'rwkv7' has guarded programs and 4 segments, but no summary of segments: keep the summaries");
}

// Rows of a map at once: as many as the budget has room for.
TEST(Summary, OfLittleMemoryIsCombinedInSmallSteps) {
  Config config = with_segments(2);
  config.key_dim = 64;
  const auto text = [&](int sram) {
    config.sram = sram;
    return lower_to({Stage::rec, rec_text(rwkv7(), config)}, Stage::cuda, config);
  };
  EXPECT_THAT(text(0), testing::HasSubstr("static_assert(combining_bytes<64, 64>(1) == 61440);"));
  EXPECT_THAT(text(40 * 1024), testing::HasSubstr("static_assert(combining_bytes<64, 32>(1) == 35328);"));
}

}  // namespace
}  // namespace wkvc::test
