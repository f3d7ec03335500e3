#include "autotune/report/headline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autotune/samples.h"

namespace wkvc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Three that were timed, of which the first won and the second is the default, and one that was rejected.
ShapeReport small_report() {
  ShapeReport report;
  report.shape_class = sample_entry().shape_class;
  report.candidates = {sample_candidate(16, 4), sample_candidate(32, 5), sample_candidate(48, 4.4),
                       sample_candidate(64)};
  report.candidates[1].use = KernelUse{131072, 168, 120, 1};
  report.candidates[3].outcome = Outcome::rejected;
  report.candidates[3].reason = "does not fit";
  report.winner = report.candidates[0].config;
  report.untuned = report.candidates[1].config;
  report.copy_ms = 2;
  return report;
}

TEST(Headlines, SayWhyTheWinnerWon) {
  EXPECT_EQ(
      headline(small_report()),
      "chunk 16, save every 16, saved f16 is the fastest with 4.000 ms, 2.00 times as long as a copy of as many bytes "
      "(2.000 ms). The default, chunk 32, save every 32, saved f16, takes 5.000 ms, 25.0 % longer; the winner has "
      "2 "
      "blocks an SM instead of 1, 0 bytes spilled instead of 120, 96.0 KiB of shared memory instead of 128.0. "
      "Next is chunk 48, save every 48, saved f16 with 4.400 ms, 10.0 % longer. Of its results o is nearest to its "
      "bound: an error of 1.7e-3, 94 % of 1.8e-3. Of 4 candidates 3 were timed, 1 rejected and 0 skipped.");
}

TEST(Headlines, SayWhenTheDefaultWins) {
  ShapeReport report = small_report();
  report.untuned = report.winner;
  EXPECT_THAT(headline(report), HasSubstr("It is also the default."));
}

TEST(Headlines, SayWhenTheDefaultDoesNotRun) {
  ShapeReport report = small_report();
  report.untuned = report.candidates[3].config;
  report.candidates[3].ms.reset();
  EXPECT_THAT(headline(report), HasSubstr("The default, chunk 64, save every 64, saved f16, was rejected: does not "
                                          "fit."));
}

TEST(Headlines, SayWhenNothingWon) {
  ShapeReport report = small_report();
  report.winner.reset();
  EXPECT_EQ(headline(report), "No configuration won. Of 4 candidates 3 were timed, 1 rejected and 0 skipped.");
}

TEST(Headlines, GoByTheModelWhereNothingWasTimed) {
  ShapeReport report = small_report();
  report.winner.reset();
  for (Candidate& candidate : report.candidates) {
    candidate.outcome = Outcome::skipped;
    candidate.ms.reset();
  }
  EXPECT_EQ(headline(report),
            "No configuration won. Of 4 candidates 0 were timed, 0 rejected and 4 skipped. The default is chunk 32, "
            "save every 32, saved f16, which the model expects to take 4.500 ms.");
}

TEST(Headlines, LeaveOutWhatIsNotKnown) {
  ShapeReport report = small_report();
  report.copy_ms = 0;
  report.untuned.reset();
  for (Candidate& candidate : report.candidates) {
    candidate.use.reset();
    candidate.errors.clear();
  }
  EXPECT_EQ(headline(report),
            "chunk 16, save every 16, saved f16 is the fastest with 4.000 ms. Next is chunk 48, save every 48, saved "
            "f16 with "
            "4.400 ms, 10.0 % longer. Of 4 candidates 3 were timed, 1 rejected and 0 skipped.");
}

}  // namespace
}  // namespace wkvc
