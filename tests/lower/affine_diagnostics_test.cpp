// Updates and outputs that are not affine in the state, or not of a supported form, and what the error says.
#include "tests/lower/faulty.h"

namespace wkvc::test {
namespace {

// The body's update is refused; the error names the recurrence and `term`, and says `why`.
void expect_refused(std::function<void(const Values&)> body, const std::string& term, const std::string& why) {
  const std::string error = error_of(with(std::move(body)));
  expect_contains(error, "'faulty'");
  expect_contains(error, "the term " + term + " in the state: ");
  expect_contains(error, why);
}

void expect_not_affine(std::function<void(const Values&)> body, const std::string& term, const std::string& why) {
  expect_refused(std::move(body), term + " is not affine", why);
}

void expect_not_supported(std::function<void(const Values&)> body, const std::string& term, const std::string& why) {
  expect_refused(std::move(body), term + " is not supported, though it is affine", why);
}

TEST(NotAffine, NonlinearFeedback) {
  expect_not_affine(
      [](const Values& at) {
        auto read = exp(dot(at.S, at.a));
        at.finish(at.S + at.op.let("fed_back", outer(read, at.k)), at.v);
      },
      "'fed_back' (outer)", "a nonlinear function of the state feeds the update");
}

TEST(NotAffine, ProductOfReads) {
  expect_not_affine(
      [](const Values& at) {
        auto product = dot(at.S, at.a) * dot(at.S, at.k);
        at.finish(at.S + at.op.let("quadratic", outer(product, at.k)), at.v);
      },
      "'quadratic' (outer)", "a nonlinear function of the state feeds the update");
}

TEST(NotAffine, DecayFromTheState) {
  expect_not_affine(
      [](const Values& at) {
        auto strength = sigmoid(dot(dot(at.S, at.a), at.v));
        at.finish(at.op.let("scaled", strength * at.S) + outer(at.v, at.k), at.v);
      },
      "'scaled' (scale)", "the decay depends on the state");
}

// A product with a nonlinear factor.
TEST(NotAffine, FunctionOfASum) {
  expect_not_affine(
      [](const Values& at) {
        auto read = relu(dot(at.S, at.a) - at.v) * at.g;
        at.finish(at.S + at.op.let("fed_back", outer(read, at.k)), at.v);
      },
      "'fed_back' (outer)", "a nonlinear function of the state feeds the update");
}

TEST(NotSupported, ValueVectorTimesARead) {
  for (bool left : {true, false})
    expect_not_supported(
        [left](const Values& at) {
          auto read = dot(at.S, at.a);
          auto gated = at.op.let("gated", left ? at.v * read : read * at.v);
          at.finish(at.S + at.op.let("fed_back", outer(gated - at.v, at.k)), at.v);
        },
        "'fed_back' (outer)",
        "multiplies each value row of what it reads by a factor of its own, and a kernel takes all rows alike; "
        "multiply "
        "by a scalar");
}

// The number that a message names is that of the line where rows are multiplied.
TEST(NotSupported, NamesTheLineOfWhatCantBeFedBack) {
  int line = 0;
  const Definition definition = with([&](const Values& at) {
    line = __LINE__ + 1;
    auto gated = at.op.let("gated", at.v * dot(at.S, at.a));
    at.finish(at.S + outer(-gated, at.k), at.v);
  });
  const std::string error = user_error_of([&] { lower_to(rec_source(definition), Stage::chunk, {}); });
  expect_contains(error, "'gated' (" + std::string(__FILE__) + ":" + std::to_string(line) + ") multiplies");
}

TEST(NotSupported, SumsOverValues) {
  expect_not_supported(
      [](const Values& at) {
        auto strength = at.op.let("strength", dot(dot(at.S, at.a), at.v));
        at.finish(at.S + at.op.let("mixed", outer(strength * at.v, at.k)), at.v);
      },
      "'mixed' (outer)", "mixes value rows of what it reads, and a kernel takes each row by itself");
}

TEST(NotSupported, ScaleFromTheStateOfWhatDoesNotHoldIt) {
  expect_not_supported(
      [](const Values& at) {
        auto strength = dot(dot(at.S, at.a), at.v);
        at.finish(at.S + at.op.let("scaled", strength * outer(at.v, at.k)), at.v);
      },
      "'scaled' (scale)", "the factor of this matrix depends on the state");
}

// dot(S, a) is over values; where keys and values are equally many it still does not fit a row.
TEST(NotSupported, RowFromTheState) {
  expect_not_supported(
      [](const Values& at) {
        auto strength = dot(dot(at.S, at.a), at.v);
        at.finish(at.S + at.op.let("mixed", outer(at.v, strength * at.k)), at.v);
      },
      "'mixed' (outer)", "its key vector depends on the state, so it mixes value rows");
}

TEST(NotAffine, DiagonalFromTheState) {
  expect_not_affine(
      [](const Values& at) {
        auto strength = dot(dot(at.S, at.a), at.v);
        at.finish(at.op.let("scaled", at.S * diag(exp(strength * at.k))), at.v);
      },
      "'scaled' (diag_mul)", "the decay depends on the state");
}

TEST(NotAffine, ReadWithWhatDependsOnTheState) {
  expect_not_affine(
      [](const Values& at) {
        auto query = dot(dot(at.S, at.a), at.v) * at.r;
        at.finish(at.S + outer(at.v, at.k), at.op.let("twice_read", dot(at.S, query)));
      },
      "'twice_read' (dot)", "the state is read with a vector that depends on the state");
}

TEST(NotSupported, StateAddedToItself) {
  expect_not_supported([](const Values& at) { at.finish(at.op.let("doubled", at.S + at.S), at.v); }, "'doubled' (add)",
                       "the state is added to itself; scale it once with diag");
}

TEST(NotSupported, StateSubtracted) {
  expect_not_supported([](const Values& at) { at.finish(at.op.let("flipped", outer(at.v, at.k) - at.S), at.v); },
                       "'flipped' (sub)", "the state is subtracted");
}

TEST(NotSupported, StateOfAFactorOfZero) {
  expect_not_supported([](const Values& at) { at.finish(at.op.let("gone", 0.0f * at.S) + outer(at.v, at.k), at.v); },
                       "'gone' (scale)", "the factor of the state is 0");
}

TEST(NotSupported, OnlyReadsOfTheOldState) {
  expect_not_supported([](const Values& at) { at.finish(at.op.let("fresh", outer(dot(at.S, at.a), at.k)), at.v); },
                       "'fresh' (outer)", "the new state holds only reads of the old one; add S * diag(w)");
}

TEST(NotSupported, WithoutTheOldState) {
  expect_not_supported([](const Values& at) { at.finish(at.op.let("fresh", outer(at.v, at.k)), at.v); },
                       "'fresh' (outer)", "the new state does not contain the old one");
}

TEST(NotSupported, DecaysOfUnknownSign) {
  expect_not_supported([](const Values& at) { at.finish(at.op.let("signed_a", at.S * diag(at.a)), at.v); },
                       "'signed_a' (diag_mul)", "the decay may be negative; write exp(log_w), or declare its range");
}

TEST(NotAffine, SaysWhatAChunkedKernelNeeds) {
  expect_contains(error_of(with([](const Values& at) { at.finish(at.S + at.S, at.v); })),
                  "A chunked kernel needs S·(diag(w) + Σ a bᵀ) + Σ v kᵀ, read with dot before or after the update.");
}

// A state read before a later intermediate is a read all the same.
TEST(Affine, ReadsOfIntermediateStates) {
  const Definition definition = with([](const Values& at) {
    auto next = at.S + outer(at.v, at.k);
    auto corrected = next + outer(dot(next, at.a), at.k);
    at.finish(corrected, dot(next, at.r) + dot(corrected, at.r));
  });
  EXPECT_NE(lower_to(source_from(rec_text(definition)), Stage::chunk, {}).find("chunk.program"), std::string::npos);
}

}  // namespace
}  // namespace wkvc::test
