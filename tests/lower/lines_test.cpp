// Messages name the line of C++ that a mistake stands in, whichever pass finds it.
#include "dsl/wkvc.h"
#include "tests/count.h"
#include "tests/expect_error.h"

namespace wkvc::test {
namespace {

// The line of this file that a recurrence notes while its body runs.
int line = 0;

struct Values {
  Recurrence& op;
  Expr k, a, v, S;

  void finish(const Expr& next, const Expr& output) const {
    op.update(S, next);
    op.output("o", output, f32);
  }
};

Definition with(void (*body)(const Values&)) {
  return recurrence("faulty", [body](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(32);
    op.compute(f16);
    auto k = op.input("k", K, f32), a = op.input("a", K, f32), v = op.input("v", V, f32);
    body({op, k, a, v, op.state("S", V, K, f32)});
  });
}

// `error` begins with that line of this file.
void expect_line(const std::string& error, int number) {
  const std::string begin = fmt::format("{}:{}: ", __FILE__, number);
  EXPECT_EQ(error.substr(0, begin.size()), begin) << error;
}

std::string error_at_warp(const Definition& definition, const Config& config) {
  return user_error_of([&] { lower_to(rec_source(definition, config), Stage::warp, config); });
}

TEST(Lines, OfTermsThatAreRefused) {
  const Definition definition = with([](const Values& at) {
    line = __LINE__ + 1;
    auto doubled = at.S + at.S;
    at.finish(doubled, at.v);
  });
  const std::string error = error_at_warp(definition, {});
  expect_line(error, line);
}

TEST(Lines, OfCastsThatAreNotSupported) {
  const Definition definition = with([](const Values& at) {
    line = __LINE__ + 1;
    at.finish(at.S + outer(cast<bf16>(dot(at.S, at.a)), at.k), at.v);
  });
  const std::string error = error_at_warp(definition, {});
  expect_line(error, line);
  expect_contains(error, "a cast to anything but f32 inside a recurrence is not supported");
}

TEST(Lines, OfDecaysThatMayExceedOne) {
  const Definition definition = with([](const Values& at) {
    line = __LINE__ + 1;
    auto decayed = at.S * diag(exp(at.a));
    at.finish(decayed + outer(at.v, at.k), at.v);
  });
  const std::string error = error_at_warp(definition, {});
  expect_line(error, line);
  expect_contains(error, "a decay may exceed 1");
}

TEST(Lines, OfChunksThatDecaysDontFit) {
  const Definition definition = with([](const Values& at) {
    line = __LINE__ + 1;
    auto decayed = at.S * diag(exp(-sigmoid(at.a)));
    at.finish(decayed + outer(at.v, at.k), at.v);
  });
  const std::string error = error_at_warp(definition, {.mma = "bf16", .chunk = 32});
  expect_line(error, line);
}

// Of shared memory it is all of a recurrence that takes it.
TEST(Lines, OfRecurrencesThatDontFit) {
  const Config config{.key_dim = 256, .value_dim = 256, .mma = "f32", .chunk = 128};
  const Definition definition = with([](const Values& at) { at.finish(at.S + outer(at.v, at.k), dot(at.S, at.a)); });
  const std::string error = error_at_warp(definition, config);
  expect_line(error, static_cast<int>(definition.at.line()));
  expect_contains(error, "of shared memory");
}

TEST(Lines, OfNamesThatTheBackwardPassTakes) {
  const Definition definition = with([](const Values& at) {
    line = __LINE__ + 1;
    at.op.output("dk", dot(at.S, at.a), f32);
    at.finish(at.S + outer(at.v, at.k), at.v);
  });
  const std::string error = error_at_warp(definition, {.pass = "both"});
  expect_line(error, line);
  expect_contains(error, "is the name of the gradient of 'k'");
}

// What teams can't do lies where its value was written.
TEST(Lines, OfWhatTeamsCantMake) {
  const Definition definition = with([](const Values& at) {
    auto next = at.S + outer(at.v, at.k);
    line = __LINE__ + 1;
    auto gated = dot(tanh(dot(next, at.k)), at.v) * at.v;
    at.finish(next, gated);
  });
  const std::string error = error_at_warp(definition, {.teams = 2});
  expect_line(error, line);
  expect_contains(error, "of value rows, for other warps than theirs");
}

// A text of a user's has its own lines.
TEST(Lines, OfTexts) {
  const std::string text = rec_text(with([](const Values& at) { at.finish(at.S + at.S, at.v); }));
  const std::size_t above = count(text.substr(0, text.find("rec.add")), "\n");
  expect_contains(user_error_of([&] { lower_to(source_from(text), Stage::warp, {}); }),
                  "source:" + std::to_string(above + 1) + ": ");
}

}  // namespace
}  // namespace wkvc::test
