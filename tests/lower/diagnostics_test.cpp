// What can't become a chunk program, and what the error says.
#include "dsl/wkvc.h"
#include "tests/count.h"
#include "tests/expect_error.h"

#include "dsl/builtin.h"

namespace wkvc::test {
namespace {

// A recurrence over r, k, a (K), v (V), g (scalar), S with the update and the output that `body` makes.
struct Values {
  Recurrence& op;
  Expr r, k, a, v, g, S;

  void finish(const Expr& next, const Expr& output) const {
    op.update(S, next);
    op.output("o", output, f32);
  }
};

Definition with(std::function<void(const Values&)> body) {
  return recurrence("faulty", [body](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(16);
    op.compute(f16);
    auto [r, k, a] = op.inputs(K, f32, "r", "k", "a");
    auto v = op.input("v", V, f32), g = op.input("g", scalar, f32);
    body({op, r, k, a, v, g, op.state("S", V, K, f32)});
  });
}

std::string chunk_text(const Definition& definition, const Config& config = {}) {
  return dump_after(source_from(rec_text(definition, config)), "merge-gradients", config);
}

std::string error_of(const Definition& definition, const Config& config = {}) {
  return user_error_of([&] { chunk_text(definition, config); });
}

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

//===- Chunks
//------------------------------------------------------------------------------------------------------===//

Config with_chunk(int chunk, const char* mma = "") {
  Config config;
  config.chunk = chunk;
  config.mma = mma;
  return config;
}

TEST(Chunks, AreMultiplesOf16) {
  for (int chunk : {24, -16, 8, 512, 272, 17})
    expect_contains(error_of(rwkv7(), with_chunk(chunk)),
                    "--chunk " + std::to_string(chunk) + ": expected a multiple of 16 from 16 to 256");
}

TEST(Chunks, FitTheRangeOfDecays) {
  const std::string error = error_of(rwkv7(), with_chunk(32, "f16"));
  expect_contains(error, "--chunk 32: log decays reach -0.6065 a token");
  expect_contains(error, "the range of f16 operands; the largest chunk that fits is 16");
  expect_contains(error_of(rwkv7(), with_chunk(256, "bf16")), "of bf16 operands; the largest chunk that fits is 32");
  expect_contains(error_of(rwkv7(), with_chunk(256, "f32")), "of f32 operands; the largest chunk that fits is 128");
}

// Their gradients are small differences of sums.
TEST(Chunks, FitTheGradientsOfDecays) {
  const auto of_gradients = [](int chunk, const char* mma) {
    Config config = with_chunk(chunk, mma);
    config.pass = "both";
    return error_of(rwkv7(), config);
  };
  expect_contains(of_gradients(32, "bf16"), "of bf16 operands, with gradients; the largest chunk that fits is 16");
  expect_contains(of_gradients(128, "f32"), "of f32 operands, with gradients; the largest chunk that fits is 64");
}

TEST(Chunks, OfTheExactPathAreShort) {
  for (const Definition& definition : {rwkv6(), rwkv7_logw()})
    expect_contains(error_of(definition, with_chunk(80)),
                    "--chunk 80: decays without a bound take the exact path, whose chunk is at most 64");
}

TEST(Operands, ThatAreNotSupported) {
  const Definition pinned = with([](const Values& at) { at.finish(at.S, dot(at.S, at.r, f32)); });
  expect_contains(error_of(pinned), "a contraction asks for f32 operands but the recurrence for f16");
}

//===- Gradients
//---------------------------------------------------------------------------------------------------===//

Config backward(std::vector<std::string> gradients = {}) {
  Config config;
  config.pass = "both";
  config.gradients = std::move(gradients);
  return config;
}

// Inputs k (K) and one more of that name (K), a parameter u (K), v (V), a state S.
Definition with_input(const std::string& name) {
  return recurrence("twice", [name](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(16);
    op.compute(f16);
    auto k = op.input("k", K, f32), more = op.input(name, K, f32), u = op.parameter("u", K, f32);
    auto v = op.input("v", V, f32);
    auto S = op.state("S", V, K, f32);
    op.update(S, S + outer(v, k * u));
    op.output("o", dot(S, more), f32);
  });
}

TEST(Gradients, AreOfWhatThereIs) {
  expect_contains(error_of(rwkv6(), backward({"r", "z"})),
                  "--grad: 'rwkv6' has no input or parameter 'z'; there are r, w, k, v, u");
  expect_contains(error_of(rwkv6(), backward({"o"})), "has no input or parameter 'o'");
  expect_contains(error_of(rwkv6(), backward({""})), "expected names such as r,w,k");
}

TEST(Gradients, HaveNamesOfTheirOwn) {
  for (const auto& [name, of] : {std::pair{"dk", "the gradient of 'k'"},
                                 {"du", "the gradient of 'u'"},
                                 {"du_parts", "the gradient of 'u' before it is summed"},
                                 {"dS", "the gradient of 'S'"},
                                 {"dfinal_state", "the gradient of the final state"},
                                 {"dinitial_state", "the gradient of the initial state"},
                                 {"saved_states", "the states that the forward pass saves"}}) {
    EXPECT_NO_THROW(chunk_text(with_input(name))) << name;
    expect_contains(error_of(with_input(name), backward()),
                    "'twice' has '" + std::string(name) + "', which is the name of " + of + ": choose another");
  }
}

// A gradient that nobody asks for takes no name.
TEST(Gradients, ThatAreNotWantedTakeNoNames) {
  EXPECT_NO_THROW(chunk_text(with_input("dk"), backward({"dk", "v"})));
  EXPECT_NO_THROW(chunk_text(with_input("du_parts"), backward({"k"})));
}

// With one more output, %z of these lines.
std::string error_of_output(const std::string& lines, const Config& config) {
  std::string text = lower_to(source_from(rec_text(rwkv6(), config)), Stage::chunk, config);
  const std::string type = "tensor<" + std::to_string(config.chunk) + "x32xf32>";
  text.insert(text.find("  chunk.update"), lines + "  chunk.output \"z\" %z as \"f32\" : " + type + "\n");
  return user_error_of([&] { lower_to(source_from(text), Stage::cuda, {}); });
}

TEST(ChunkText, OperationsAlongTokensTakeMatricesOfThem) {
  Config config;
  config.key_dim = config.value_dim = 32;
  config.chunk = 16;
  for (const char* lines : {"  %z = chunk.upper_rows %O half 8 : tensor<16x32xf32>\n",
                            "  %z = chunk.select_halves %O, %O half 8 : tensor<16x32xf32>\n",
                            "  %z = chunk.last_of_other_half %O half 8 : tensor<16x32xf32>\n",
                            "  %z = chunk.sum_of_other_half %O half 8 : tensor<16x32xf32>\n",
                            "  %y = chunk.row %O[3] : tensor<16x32xf32> -> tensor<1x32xf32>\n"
                            "  %z = chunk.add %O, %y : tensor<16x32xf32>, tensor<1x32xf32> -> tensor<16x32xf32>\n"})
    expect_contains(error_of_output(lines, config), "takes a matrix of tokens by keys");
  expect_contains(error_of_output("  %z = chunk.cumsum %O : tensor<16x32xf32>\n", config),
                  "'chunk.cumsum' takes tokens by keys, tokens by tokens or one number a token");
  config.chunk = 32;
  for (const char* lines :
       {"  %z = chunk.tril %L : tensor<32x32xf32>\n", "  %z = chunk.level_pairs %L half 8 : tensor<32x32xf32>\n"})
    expect_contains(error_of_output(lines, config), "takes a matrix of tokens by tokens");
}

// Σ_v (S∘l)∘(S∘l) of a state that contractions read, l being a row: of one value, and of two.
TEST(ChunkText, SumsOfProductsWithRowsAreContractions) {
  Config config;
  config.key_dim = config.value_dim = 32;
  for (const std::string other : {"%x", "%y"}) {
    std::string text = lower_to(source_from(rec_text(rwkv6(), config)), Stage::chunk, config);
    const std::string row = " : tensor<32x32xf32>, tensor<1x32xf32> -> tensor<32x32xf32>\n";
    const std::string lines = "  %x = chunk.mul %S, %L_last" + row + "  %l = chunk.neg %L_last : tensor<1x32xf32>\n" +
                              "  %y = chunk.mul %S, %l" + row + "  %p = chunk.mul %x, " + other +
                              " : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>\n" +
                              "  %sum = chunk.sum_rows %p : tensor<32x32xf32> -> tensor<1x32xf32>\n" +
                              "  %more = chunk.mul %S_next, %sum" + row;
    const std::string update = "  chunk.update %S_next";
    text.replace(text.find(update), update.size(), lines + "  chunk.update %more");
    expect_contains(lower_to(source_from(text), Stage::cuda, {}), "column_dots(");
  }
}

TEST(Casts, ToNarrowDtypesAreRefused) {
  const Definition definition = with([](const Values& at) { at.finish(at.S, cast<f32>(cast<bf16>(at.v))); });
  expect_contains(error_of(definition), "a cast to anything but f32 inside a recurrence is not supported");
}

// Teams prepare chunks before the state is there.
TEST(Teams, PrepareWhatDoesNotDependOnTheState) {
  const auto error = [](int teams, std::function<Expr(const Values&)> output) {
    Config config;
    config.key_dim = config.value_dim = 32;
    const Source source = source_from(
        rec_text(with([output](const Values& at) { at.finish(at.S + outer(at.v, at.k), output(at)); }), config));
    config.teams = teams;
    return user_error_of([&] { lower_to(source, Stage::warp, config); });
  };
  const auto of_state = [](const Values& at) { return dot(dot(at.S, at.k), at.v); };
  const auto of_values = [](const Values& at) { return dot(at.v, at.v) * at.v; };
  expect_contains(error(2, of_state), "--teams 2: the forward kernel of 'faulty' makes");
  expect_contains(error(2, of_state), "of value rows, for other warps than theirs");
  expect_contains(error(2, of_state), "use --teams 1");
  expect_contains(error(2, of_values), "--teams 2: the forward kernel of 'faulty' makes");
  expect_contains(error(3, of_state), "has 2 warps; expected a number that divides them");
}

TEST(Teams, AheadAreOfWarpsThatABlockHas) {
  Config config;
  config.rounds = 2;
  const auto error = [&](int teams, int K, int V) {
    config.teams = teams;
    config.key_dim = K;
    config.value_dim = V;
    return user_error_of([&] { lower_to(source_from(rec_text(rwkv7(), config)), Stage::warp, config); });
  };
  expect_contains(error(15, 64, 64), "would have 34 warps, 30 of them to prepare chunks; a block has at most 32");
  expect_contains(error(7, 64, 64), "for 7 teams, the budget is 232448; use --rounds 1, fewer --teams");
}

Definition delta_rule(int keys, int values) {
  return recurrence("delta", [=](Recurrence& op) {
    Dim K = op.key_dim(keys), V = op.value_dim(values);
    op.compute(f16);
    auto k = op.input("k", K, bf16), v = op.input("v", V, bf16);
    auto S = op.state("S", V, K, f32);
    op.update(S, S - outer(dot(S, k), k) + outer(v, k));
    op.output("o", dot(S, k), bf16);
  });
}

// Summaries have rows of the map beside those of the state. Of wide heads the blocks of a cluster share them; where
// they leave no warps for teams, summaries do without.
TEST(Teams, AheadOfSummaries) {
  const auto text_of = [](int keys, int values, int teams) {
    const Config config{.teams = teams, .rounds = 2, .segments = 2};
    return lower_to(source_from(rec_text(delta_rule(keys, values), config)), Stage::warp, config);
  };
  const std::string wide = text_of(128, 128, 3);
  EXPECT_EQ(count(wide, "grid(segments = 2, cluster = 2, blocks = 1), prepare(teams = 3, warps = 4)"), 1U);
  EXPECT_EQ(count(wide, "grid(segments = 2, blocks = 1), prepare(teams = 3, warps = 4)"), 1U);
  EXPECT_EQ(count(text_of(64, 256, 7), "prepare(teams = 7, warps = 2)"), 1U);
  EXPECT_EQ(count(text_of(64, 64, 3), "grid(segments = 2, blocks = 1), prepare(teams = 3, warps = 2)"), 2U);
}

// A single team prepares chunk by chunk, and those of a cluster's blocks a chunk each.
TEST(Teams, AheadMayBeOne) {
  Config config{.teams = 1, .rounds = 2};
  const auto text_of = [&] { return lower_to(source_from(rec_text(rwkv7(), config)), Stage::cuda, config); };
  EXPECT_EQ(count(text_of(), "using Slots = RoundSlots<1, "), 1U);
  config.cluster = 4;
  EXPECT_EQ(count(text_of(), ", 2, 4>;  // teams"), 1U);
}

TEST(Teams, OfClustersHaveAPartOfTheRows) {
  Config config;
  config.teams = config.rounds = 2;
  const auto error = [&](int cluster, int V) {
    config.cluster = cluster;
    config.key_dim = 32;
    config.value_dim = V;
    return user_error_of([&] { lower_to(source_from(rec_text(rwkv7(), config)), Stage::warp, config); });
  };
  expect_contains(error(3, 64), "--cluster 3: expected 1, 2, 4 or 8");
  expect_contains(error(2, 48), "--cluster 2: the 3 warps of the forward kernel of 'rwkv7'");
  config.teams = 3;
  config.io = "f32";
  expect_contains(error(2, 256), "for 3 teams in each of 2 blocks, the budget is 232448; use a smaller --cluster");
  config.io = "bf16";
  config.teams = 4;  // a round of more chunks than a block has warps for teams
  config.cluster = 4;
  config.key_dim = 16;
  config.value_dim = 64;
  const std::string text = lower_to(source_from(rec_text(rwkv6(), config)), Stage::cuda, config);
  EXPECT_EQ(count(text, "using Slots = RoundSlots<4, "), 1U);
  EXPECT_EQ(count(text, ", 2, 4>;  // teams"), 1U);  // two slots for each chunk, four blocks
  EXPECT_EQ(count(text, "first += Slots::kChunks"), 2U);
  EXPECT_EQ(count(text, "team.claim();"), 1U);
  EXPECT_EQ(count(text, "team.publish();"), 1U);
  EXPECT_EQ(count(text, "slot.await();"), 1U);
  EXPECT_EQ(count(text, "slot.release();"), 1U);
  EXPECT_EQ(count(text, "block.cluster_barrier();"), 2U);  // before teams end, and the others
  config.teams = 2;
  config.rounds = 1;
  expect_contains(error(2, 64), "--cluster 2: blocks share what teams prepare a round ahead: give --rounds 2");
}

TEST(Teams, OfBackwardKernelsTakeASavedStateThroughEachRound) {
  Config config;
  config.pass = "both";
  config.backward_teams = 2;
  const auto error_of = [](const Source& source, const Config& given) {
    return user_error_of([&] { lower_to(source, Stage::warp, given); });
  };
  const Source rec = source_from(rec_text(rwkv7(), config));
  Config other = config;
  other.save_every = 64;
  expect_contains(error_of(rec, other), "need a saved state every 2 chunks, not every 4 (a kernel without scales");
  other = config;
  other.pass = "backward";
  other.backward_teams = 0;
  other.teams = 2;
  expect_contains(error_of(rec, other), "--pass backward has no forward kernel: give --pass both, or --teams auto,2");
  other.teams = 0;
  other.rounds = 2;
  expect_contains(error_of(rec, other), "--rounds is an option of the forward kernel");
  other.rounds = 0;
  other.cluster = 2;
  expect_contains(error_of(rec, other), "--cluster is an option of the forward kernel");
  other = config;
  other.backward_teams = 3;
  expect_contains(error_of(rec, other), "has 4 warps; expected a number that divides them");

  const Source by_teams = source_from(lower_to(rec, Stage::chunk, config));
  EXPECT_EQ(lower_to(by_teams, Stage::warp, {}), lower_to(rec, Stage::warp, config));  // needs no options
  EXPECT_EQ(lower_to(by_teams, Stage::warp, config), lower_to(rec, Stage::warp, config));
  expect_contains(error_of(by_teams, {.backward_teams = 1, .pass = "both"}),
                  "through rounds of chunks, one for each team: give --teams 1,2");
  other = config;
  other.save_every = 64;
  other.scales = "guarded";
  const Source in_two_rounds = source_from(lower_to(rec, Stage::chunk, other));
  EXPECT_EQ(lower_to(in_two_rounds, Stage::warp, {}), lower_to(rec, Stage::warp, other));
  other = {.backward_teams = 1, .pass = "both"};
  expect_contains(error_of(in_two_rounds, other), "one for each team: give --teams 1,2");
  other.backward_teams = 4;
  expect_contains(error_of(in_two_rounds, other), "the first of them twice: give --teams N,2");

  other = config;
  other.backward_teams = 0;
  const Source alone = source_from(lower_to(rec, Stage::chunk, other));
  expect_contains(error_of(alone, config), "has no update of its saved state");

  std::string early = lower_to(rec, Stage::chunk, config);
  const std::string bound = "chunk.round %k_out scale [\"k\"]";
  early.replace(early.rfind(bound), bound.size(), "chunk.round %k_out scale [\"S\"]");
  expect_contains(error_of(source_from(early), config), "rounds 'k_out' in a scale of the state 'S'");
}

}  // namespace
}  // namespace wkvc::test
