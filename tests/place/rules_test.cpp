// Each rule of the pass `place`, on small programs.
#include <gmock/gmock.h>

#include "tests/place/placed.h"

namespace wkvc::test {
namespace {

using testing::AnyOf;

// Contractions of x with itself: a matrix of tokens by tokens, and one that is made of it.
constexpr const char* matrices =
    R"(  %a = chunk.dot %x over 1, %x over 1 : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x16xf32>
  %lower = chunk.tril %a : tensor<16x16xf32>
)";

TEST(Owners, FollowFromWhatRowsAndColumnsAre) {
  Placed placed(with(std::string(matrices) + R"(  %ex = chunk.exp %x : tensor<16x32xf32>
  %row = chunk.row %x[15] : tensor<16x32xf32> -> tensor<1x32xf32>
  %ev = chunk.exp %v : tensor<16x48xf32>
  %eS = chunk.exp %S : tensor<48x32xf32>
  %eg = chunk.exp %g : tensor<16x1xf32>
  %of_columns = chunk.sum_columns %ex : tensor<16x32xf32> -> tensor<16x1xf32>
  %diagonal = chunk.diagonal %a : tensor<16x16xf32> -> tensor<16x1xf32>
  %of_diagonal = chunk.exp %diagonal : tensor<16x1xf32>
)"));
  EXPECT_EQ(placed["a"].owner, Owner::matrix);
  EXPECT_EQ(placed["lower"].owner, Owner::matrix);
  EXPECT_EQ(placed["ex"].owner, Owner::slab);
  EXPECT_EQ(placed["row"].owner, Owner::slab);
  EXPECT_EQ(placed["ev"].owner, Owner::rows);
  EXPECT_EQ(placed["eS"].owner, Owner::rows);
  EXPECT_EQ(placed["eg"].owner, Owner::anyone) << "one number a token, of inputs alone";
  EXPECT_EQ(placed["of_columns"].owner, Owner::slab) << "each slab has its part of the sum";
  EXPECT_EQ(placed["diagonal"].owner, Owner::matrix);
  EXPECT_EQ(placed["of_diagonal"].owner, Owner::matrix);
}

TEST(Phases, EndWhereAValueCrosses) {
  Placed placed(with(R"(  %ex = chunk.exp %x : tensor<16x32xf32>
  %exx = chunk.exp %ex : tensor<16x32xf32>
  %a = chunk.dot %exx over 1, %exx over 1 : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x16xf32>
  %lower = chunk.tril %a : tensor<16x16xf32>
  %o = chunk.dot %lower over 1, %v over 0 : tensor<16x16xf32>, tensor<16x48xf32> -> tensor<16x48xf32>
)"));
  EXPECT_EQ(placed["exx"].phase, 0) << "a slab reads its own columns in the same phase";
  EXPECT_EQ(placed["a"].phase, 1);
  EXPECT_EQ(placed["lower"].phase, 1) << "the same warp reads its matrix in the same phase";
  EXPECT_EQ(placed["o"].phase, 2);
  EXPECT_EQ(placed.placement().division().whole, 3);
  EXPECT_FALSE(placed.placement().is_by_teams());
}

// A contraction reads whole operands, so a matrix crosses to one.
TEST(Phases, ContractionsReadMatricesOnePhaseLater) {
  Placed placed(
      with(std::string(matrices) +
           R"(  %b = chunk.dot %lower over 1, %lower over 0 : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
)"));
  EXPECT_EQ(placed["b"].phase, placed["lower"].phase + 1);
  EXPECT_EQ(placed["lower"].storage, Storage::shared);
}

TEST(Delays, SlabsComputeWhereTheyAreRead) {
  Placed placed(with(R"(  %late = chunk.exp %x : tensor<16x32xf32>
  %row = chunk.sum_columns %x : tensor<16x32xf32> -> tensor<16x1xf32>
  %later = chunk.mul %late, %row : tensor<16x32xf32>, tensor<16x1xf32> -> tensor<16x32xf32>
  chunk.output "y" %later as "f32" : tensor<16x32xf32>
)"));
  EXPECT_EQ(placed["row"].phase, 0);
  EXPECT_EQ(placed["later"].phase, 1);
  EXPECT_EQ(placed["late"].phase, 1);
}

TEST(Warps, ShareOutMatricesByCost) {
  const std::string text =
      with(std::string(matrices) +
           R"(  %b = chunk.dot %k over 1, %k over 1 : tensor<16x32xbf16>, tensor<16x32xbf16> -> tensor<16x16xf32>
  %inverse = chunk.unit_lower_inverse %b in "f32" : tensor<16x16xf32>
)");
  Placed placed(text, /*warps=*/2);
  EXPECT_EQ(placed["inverse"].warp, 0) << "it costs most";
  EXPECT_EQ(placed["b"].warp, 0) << "the warp of what is made of it";
  EXPECT_EQ(placed["a"].warp, 1);
  EXPECT_EQ(placed["lower"].warp, 1);
  EXPECT_EQ(placed["x"].warp, -1);
  EXPECT_EQ(Placed(text, /*warps=*/1)["a"].warp, 0);
}

TEST(Storage, SumsAreKeptAsTheScheduleSays) {
  Placed kept(with(read_again), 3, false, Stored::sums), made(with(read_again), 3, false, Stored::contractions);
  EXPECT_EQ(kept["L"].storage, Storage::shared);
  EXPECT_EQ(kept["L"].last, 1);
  EXPECT_EQ(kept["x"].last, 0);
  EXPECT_EQ(made["L"].storage, Storage::registers);
  EXPECT_EQ(made["x"].last, 1) << "what it is made of is read again";
}

TEST(Storage, ExponentialsAreKeptAtTheHighestLevelAlone) {
  const std::string text = with(R"(  %e = chunk.exp2 %x : tensor<16x32xf32>
  %s = chunk.sigmoid %x : tensor<16x32xf32>
  %both = chunk.add %e, %s : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  %sum = chunk.sum_columns %both : tensor<16x32xf32> -> tensor<16x1xf32>
  %late = chunk.mul %both, %sum : tensor<16x32xf32>, tensor<16x1xf32> -> tensor<16x32xf32>
  chunk.output "y" %late as "f32" : tensor<16x32xf32>
)");
  for (const auto& [keep, sigmoid, exponential] : {std::tuple{Stored::sums, Storage::registers, Storage::registers},
                                                   {Stored::activations, Storage::shared, Storage::registers},
                                                   {Stored::exponentials, Storage::shared, Storage::shared}}) {
    Placed placed(text, 3, false, keep);
    EXPECT_EQ(placed["s"].storage, sigmoid);
    EXPECT_EQ(placed["e"].storage, exponential);
    EXPECT_EQ(placed["both"].storage, Storage::registers);
  }
}

TEST(Storage, WhatCrossesIsShared) {
  Placed placed(with(R"(  %ex = chunk.exp %x : tensor<16x32xf32>
  %o = chunk.dot %ex over 1, %S over 1 : tensor<16x32xf32>, tensor<48x32xf32> -> tensor<16x48xf32>
)"));
  EXPECT_EQ(placed["ex"].storage, Storage::shared);
  EXPECT_EQ(placed["ex"].last, placed["o"].phase);
  EXPECT_EQ(placed["S"].storage, Storage::registers) << "value rows hold it";
}

// What teams prepare, what goes with the state, and what is made of it.
std::string of_teams(const std::string& lines) { return with_backward(lines); }

TEST(Teams, PrepareGoWithTheStateAndFinish) {
  Placed placed(of_teams(R"(  %ex = chunk.exp %x : tensor<16x32xf32>
  %o = chunk.dot %ex over 1, %S over 1 : tensor<16x32xf32>, tensor<48x32xf32> -> tensor<16x48xf32>
  %dx = chunk.dot %o over 1, %S over 0 : tensor<16x48xf32>, tensor<48x32xf32> -> tensor<16x32xf32>
)"),
                1, /*by_teams=*/true);
  const Phases& phases = placed.placement().division();
  EXPECT_EQ(phases, (Phases{.warps = 1, .prepare = 1, .states = 1, .finish = 1, .prepared = phases.prepared}));
  EXPECT_EQ(placed["ex"].phase, 0);
  EXPECT_EQ(placed["S"].phase, 1);
  EXPECT_EQ(placed["o"].phase, 1);
  EXPECT_EQ(placed["dx"].phase, 2);
  EXPECT_EQ(placed["o"].storage, Storage::shared);
}

TEST(Teams, MakeValuesThatOthersThanRowsReadInSlabs) {
  const std::string text = of_teams(R"(  %ev = chunk.exp %v : tensor<16x48xf32>
  %sum = chunk.sum_columns %ev : tensor<16x48xf32> -> tensor<16x1xf32>
  %y = chunk.mul %x, %sum : tensor<16x32xf32>, tensor<16x1xf32> -> tensor<16x32xf32>
  chunk.output "y" %y as "f32" : tensor<16x32xf32>
)");
  Placed by_teams(text, 1, /*by_teams=*/true), by_one(text);
  EXPECT_EQ(by_teams["ev"].owner, Owner::slab);
  EXPECT_EQ(by_teams["ev"].columns, Columns::values);
  EXPECT_EQ(by_teams["sum"].owner, Owner::slab);
  EXPECT_EQ(by_one["ev"].owner, Owner::rows);
}

// Value rows make it where they need it.
TEST(Teams, RowsOfInputsWaitForTheState) {
  Placed placed(of_teams(R"(  %ev = chunk.exp %v : tensor<16x48xf32>
  %o = chunk.dot %x over 1, %S over 1 : tensor<16x32xf32>, tensor<48x32xf32> -> tensor<16x48xf32>
  %sum = chunk.add %o, %ev : tensor<16x48xf32>, tensor<16x48xf32> -> tensor<16x48xf32>
)"),
                1, /*by_teams=*/true);
  EXPECT_EQ(placed["ev"].owner, Owner::rows);
  EXPECT_EQ(placed["ev"].phase, placed["sum"].phase);
}

TEST(Teams, StripsTakeAWholeShareOfColumns) {
  const std::string text = of_teams("  %ex = chunk.exp %x : tensor<16x32xf32>\n");
  EXPECT_EQ(Placed(text, 1, true).placement().division().prepared, Prepared::strips) << "32 columns a warp";
  EXPECT_EQ(Placed(text, 2, true).placement().division().prepared, Prepared::blocks) << "16 columns a warp";
  EXPECT_EQ(Placed(text, 1, false).placement().division().prepared, Prepared::blocks) << "one team";
}

// What a phase behind that of the matrices reads alone is added up there, so that several warps make the matrices.
TEST(Teams, AddUpNumbersOfSeveralWarps) {
  Placed placed(
      of_teams(R"(  %o = chunk.dot %x over 1, %S over 1 : tensor<16x32xf32>, tensor<48x32xf32> -> tensor<16x48xf32>
  %a = chunk.dot %o over 1, %o over 1 : tensor<16x48xf32>, tensor<16x48xf32> -> tensor<16x16xf32>
  %b = chunk.dot %o over 1, %v over 1 : tensor<16x48xf32>, tensor<16x48xf32> -> tensor<16x16xf32>
  %of_a = chunk.sum_columns %a : tensor<16x16xf32> -> tensor<16x1xf32>
  %of_b = chunk.sum_columns %b : tensor<16x16xf32> -> tensor<16x1xf32>
  %both = chunk.add %of_a, %of_b : tensor<16x1xf32>, tensor<16x1xf32> -> tensor<16x1xf32>
  %dx = chunk.dot %o over 1, %S over 0 : tensor<16x48xf32>, tensor<48x32xf32> -> tensor<16x32xf32>
  %of_dx = chunk.sum_columns %dx : tensor<16x32xf32> -> tensor<16x1xf32>
  %y = chunk.add %both, %of_dx : tensor<16x1xf32>, tensor<16x1xf32> -> tensor<16x1xf32>
  chunk.output "y" %y as "f32" : tensor<16x1xf32>
)"),
      /*warps=*/2, /*by_teams=*/true);
  EXPECT_NE(placed["a"].warp, placed["b"].warp);
  EXPECT_EQ(placed["of_a"].warp, placed["a"].warp);
  EXPECT_GT(placed["y"].phase, placed["a"].phase);
  EXPECT_EQ(placed["both"].phase, placed["y"].phase);
  EXPECT_EQ(placed["of_a"].storage, Storage::shared);
  EXPECT_EQ(placed["of_a"].last, placed["y"].phase);
}

// 16-bit inputs that were rounded are read from the rounded operand once states have come.
TEST(StandIns, TakeThePlaceOfInputsOfSixteenBits) {
  const auto text = [](const std::string& again) {
    return of_teams(R"(  %wide = chunk.widen %k : tensor<16x32xbf16> -> tensor<16x32xf32>
  %k16 = chunk.round %wide scale ["k"] times 1.280000e+02 : tensor<16x32xf32> -> tensor<16x32xf16>
  %S16 = chunk.round %S scale ["S"] times 1.280000e+02 : tensor<48x32xf32> -> tensor<48x32xf16>
  %o = chunk.dot %k16 over 1, %S16 over 1 : tensor<16x32xf16>, tensor<48x32xf16> -> tensor<16x48xf32>
  %o16 = chunk.round %o scale [] times 0.000000e+00 : tensor<16x48xf32> -> tensor<16x48xf16>
  %do = chunk.dot %o16 over 1, %S16 over 0 : tensor<16x48xf16>, tensor<48x32xf16> -> tensor<16x32xf32>
)" + again + R"(  chunk.output "y" %y as "f32" : tensor<16x32xf32>
)");
  };
  Placed linear(text("  %y = chunk.mul %wide, %do : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x32xf32>\n"), 1,
                true);
  EXPECT_EQ(linear["k16"].storage, Storage::stand_in);
  EXPECT_EQ(linear["k16"].last, linear["y"].phase);
  EXPECT_LT(linear["k"].last, linear["y"].phase) << "its ring is free";
  EXPECT_EQ(stand_in(linear.op("wide")->getResult(0), linear["y"].phase, linear.placement()).getOperation(),
            linear.op("k16"));
  Placed bent(text("  %e = chunk.exp %wide : tensor<16x32xf32>\n"
                   "  %y = chunk.mul %e, %do : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x32xf32>\n"),
              1, true);
  EXPECT_EQ(bent["k16"].storage, Storage::shared) << "what is tiny beside the maximum counts";
  EXPECT_EQ(bent["k"].last, bent["y"].phase);
}

}  // namespace
}  // namespace wkvc::test
