#include "autotune/lockfile/candidate.h"

#include <cmath>
#include <limits>

#include "tests/autotune/samples.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

using nlohmann::json;

std::string text(const Candidate& candidate) { return candidate_json(candidate).dump(); }

TEST(Candidates, RoundTrip) {
  Candidate rejected;
  rejected.config = settings(64);
  rejected.size = {1, 2, 3};
  rejected.outcome = Outcome::rejected;
  rejected.reason = "needs 300 KiB of \"shared\" memory";
  for (const Candidate& candidate : {sample_candidate(), rejected}) {
    EXPECT_EQ(text(candidate_from(json::parse(text(candidate)), "line 2")), text(candidate));
  }
  EXPECT_EQ(candidate_from(json::parse(text(sample_candidate())), "line 2").ms, 4.45);
}

TEST(Candidates, KeepResultsThatAreNotFinite) {
  Candidate candidate = sample_candidate();
  candidate.outcome = Outcome::rejected;
  candidate.reason = "o is not finite";
  candidate.errors["o"].error = std::numeric_limits<double>::quiet_NaN();
  const Candidate back = candidate_from(json::parse(text(candidate)), "line 2");
  EXPECT_TRUE(std::isnan(back.errors.at("o").error));
  EXPECT_EQ(worst(back.errors)->first, "o");
  EXPECT_FALSE(within_bounds(back.errors));
}

TEST(Candidates, TheWorstResultIsNearestToItsBound) {
  EXPECT_EQ(worst(Accuracies{{"a", {5, 10}}, {"b", {2, 3}}, {"c", {1, 9}}})->first, "b");
  EXPECT_TRUE(within_bounds({{"a", {5, 5}}}));
  EXPECT_FALSE(within_bounds({{"a", {5, 5}}, {"b", {2, 1}}}));
}

TEST(Candidates, RefuseMistakes) {
  const auto refused = [](const json& patch, const std::vector<std::string>& parts) {
    SCOPED_TRACE(patch.dump());
    json object = candidate_json(sample_candidate());
    object.merge_patch(patch);  // null takes a key out
    expect_error([&] { candidate_from(object, "j: line 2"); }, parts);
  };
  refused({{"extra", 1}}, {"j: line 2", "unknown key \"extra\""});
  refused({{"config", {{"chunk", 5}}}}, {"j: line 2's \"config\"", "\"chunk\" is 5"});
  refused({{"shape", nullptr}}, {"lacks the key \"shape\""});
  refused({{"status", "done"}}, {"\"status\" is \"done\"", "timed or rejected or skipped"});
  refused({{"ms", nullptr}}, {"lacks the key \"ms\""});
  refused({{"ms", -1}}, {"\"ms\" is -1", "a number from 0"});
  refused({{"status", "rejected"}}, {"\"reason\" is \"\"", "why"});
  refused({{"outputs", "x"}}, {"\"outputs\" is \"x\"", "32 hexadecimal digits"});
  refused({{"errors", 1}}, {"\"errors\" are a JSON number"});
  refused({{"errors", {{"o", {{"error", "1"}}}}}}, {"of \"o\"", "\"error\" is \"1\"", "a number"});
  refused({{"errors", {{"o", {{"bound", 0}}}}}}, {"\"bound\" is 0", "above 0"});
  refused({{"use", {{"registers", 1.5}}}}, {"\"use\"", "\"registers\" is 1.5"});
}

}  // namespace
}  // namespace wkvc
