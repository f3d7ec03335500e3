#include "autotune/lockfile/lockfile.h"

#include <algorithm>
#include <limits>

#include "autotune/lockfile/json_text.h"
#include "runtime/base/temporary_directory.h"
#include "tests/autotune/samples.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

const std::vector<LaunchSize> sizes{{8, 4096, 64}, {1, 4096, 64}, {8, 512, 32}};

Lockfile three() { return with({sample_entry(sizes[0]), sample_entry(sizes[1]), sample_entry(sizes[2])}); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Options of a recurrence are another recurrence: each has an entry of its own.
TEST(Lockfile, KeepsEntriesOfOptionsApart) {
  LockEntry scaled = sample_entry();
  scaled.config.set = {"decay=log", "scale=0.5"};
  const Lockfile lockfile = with({sample_entry(), scaled});
  ASSERT_EQ(lockfile.entries().size(), 2U);
  const Lockfile again = Lockfile::parse(lockfile.text(), "again", Seals::ignored);
  ASSERT_EQ(again.entries().size(), 2U);
  EXPECT_EQ(
      std::ranges::count(again.entries(), scaled.config.set, [](const LockEntry& entry) { return entry.config.set; }),
      1);
}

TEST(Lockfiles, AreForPeopleToRead) {
  EXPECT_EQ(with({sample_entry()}).text(), R"({
  "format": 1,
  "entries": [
    {
      "op": "rwkv7",
      "pass": "both",
      "io": "bf16",
      "head": {"K": 64, "V": 64},
      "accuracy": "any",
      "shape": {"B": 8, "T": 4096, "H": 64},
      "gpu": {"name": "NVIDIA H200", "arch": "sm_90a", "sm_count": 132},
      "recurrence": "ef93ff13780825fcd56fd3b33ba2b709",
      "config": {"mma": "bf16", "chunk": 16, "save_every": 32, "saved": "f16", "blocks": 2},
      "ms": 4.45123,
      "ratio_to_copy": 2.514,
      "errors": {
        "dr": {"error": 0.00168, "bound": 0.002},
        "o": {"error": 0.00170123, "bound": 0.0018}
      },
      "evidence": {
        "wkvc": "0.1.0",
        "nvrtc": "13.0",
        "driver": "580.95.05",
        "date": "2026-11-21T19:30:00Z",
        "candidates": 96,
        "seed": 7,
        "outputs": "fc2c954504bafa34346e5b56202d90f1"
      },
      "seal": "621c9d517df94b377dfcbc30b85641da"
    }
  ]
}
)");
}

TEST(Lockfiles, RoundTripThroughFiles) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "tune.json";
  three().write(path);
  const Lockfile back = Lockfile::read(path);
  EXPECT_EQ(back.entries().size(), 3U);
  EXPECT_EQ(back.text(), three().text());
  EXPECT_EQ(Lockfile::parse(Lockfile().text(), "empty").entries().size(), 0U);
  expect_error([&] { Lockfile::read(directory.path() / "none"); }, {"none", "cannot be read"});
}

TEST(Lockfiles, AreSortedWhateverCameFirst) {
  const Lockfile lockfile = three();
  std::vector<LockEntry> entries(lockfile.entries().begin(), lockfile.entries().end());
  std::ranges::reverse(entries);
  EXPECT_EQ(with(entries).text(), lockfile.text());
  EXPECT_TRUE(std::ranges::is_sorted(lockfile.entries(), sorts_before));
}

TEST(Lockfiles, NewerEntriesReplaceOlderOnes) {
  Lockfile lockfile = three();
  LockEntry newer = sample_entry();
  newer.ms = 4;
  newer.recurrence = std::string(32, '0');
  newer.evidence.date = "2026-11-22T00:00:00Z";
  EXPECT_TRUE(lockfile.merge(newer));
  EXPECT_EQ(lockfile.entries().size(), 3U);
  EXPECT_FALSE(lockfile.merge(sample_entry()));  // of an earlier date
  const auto kept = std::ranges::find_if(lockfile.entries(), [&](const auto& it) { return same_subject(it, newer); });
  EXPECT_EQ(kept->ms, 4);
  lockfile.remove(newer);
  EXPECT_EQ(lockfile.entries().size(), 2U);
  EXPECT_TRUE(lockfile.merge(sample_entry()));
}

TEST(Lockfiles, EntriesThatCannotBeReadBackAreOurFault) {
  LockEntry entry = sample_entry();
  entry.ms = std::numeric_limits<double>::quiet_NaN();
  expect_error<InternalError>([&] { Lockfile().merge(entry); }, {"cannot be read back", "\"ms\""});
  entry = sample_entry();
  entry.errors["o"].error = 1;
  expect_error<InternalError>([&] { Lockfile().merge(entry); }, {"not within its bound"});
}

TEST(Lockfiles, RefuseWhatIsNone) {
  const auto refused = [](const std::string& text, const std::vector<std::string>& parts) {
    expect_error([&] { Lockfile::parse(text, "t.json"); }, parts);
  };
  refused("", {"t.json is empty, expected a JSON object"});
  refused("{", {"t.json is not valid JSON"});
  refused("[]", {"t.json is a JSON array"});
  refused("{}", {"t.json is no lockfile", "\"format\""});
  refused(R"({"format": 2, "results": []})", {"t.json is a lockfile of format 2", "reads format 1", "wkvc tune"});
  refused(R"({"format": "1"})", {"format \"1\""});
  refused(R"({"format": 1.0})", {"format 1.0"});
  refused(R"({"format": 1})", {"lacks the key \"entries\""});
  refused(R"({"format": 1, "entries": {}})", {"\"entries\" is {}", "a list"});
  refused(R"({"format": 1, "entries": [], "x": 1})", {"unknown key \"x\""});
  refused(R"({"format": 1, "entries": [1]})", {"t.json: entry 1 is a JSON number"});
  refused(replaced(three().text(), "\"op\"", "\"op\": \"rwkv7\", \"op\""), {"\"op\" twice"});
}

TEST(Lockfiles, RefuseTwoEntriesOfOneSubject) {
  ordered_json object = ordered_json::parse(three().text());
  object["entries"].push_back(object["entries"][1]);
  expect_error([&] { Lockfile::parse(object.dump(), "t.json"); },
               {"t.json: entry 4 is a second one of", "rwkv7 both 8,512,32", "keep one"});
}

TEST(Lockfiles, RefuseEditsAndSayWhatToDo) {
  const std::string edited = replaced(three().text(), "\"save_every\": 32", "\"save_every\": 64");
  expect_error([&] { Lockfile::parse(edited, "t.json"); },
               {"t.json: entry 1 (rwkv7 both 1,4096,64", "NVIDIA H200", "wrong seal", "edited",
                "wkvc tune --revalidate t.json", "take the entry out"});
  const Lockfile lockfile = Lockfile::parse(edited, "t.json", Seals::ignored);
  EXPECT_EQ(lockfile.entries()[0].config.save_every, 64);
  EXPECT_FALSE(is_sealed(lockfile.entries()[0]));
  EXPECT_TRUE(is_sealed(lockfile.entries()[1]));
}

TEST(Lockfiles, LayoutIsNotUnderTheSeal) {
  const json object = json::parse(three().text());  // keys in another order
  EXPECT_EQ(Lockfile::parse(object.dump(4), "t.json").text(), three().text());
}

// The places of what was measured and settled: the lines from "config" to the end of "errors".
std::pair<std::size_t, std::size_t> measured(const std::string& text) {
  return {text.find("\"config\""), text.find("\"evidence\"")};
}

// Refused, or it says the same as before: 0.002 and 0.0020, a space and a line break.
void expect_harmless(const std::string& edited, const json& original, int& refused) {
  try {
    Lockfile::parse(edited, "t.json");
  } catch (const UserError&) {
    ++refused;
    return;
  }
  EXPECT_EQ(json::parse(edited), original) << edited;
}

TEST(Lockfiles, EveryEditOfOneCharacterIsRefused) {
  const std::string text = with({sample_entry()}).text();
  const json original = json::parse(text);
  const auto [from, to] = measured(text);
  ASSERT_LT(from + 200, to);
  int refused = 0, edits = 0;
  for (std::size_t at = from; at < to; ++at) {
    for (const char other : std::string("0159.-eE\"{},: x")) {
      if (other != text[at]) expect_harmless(std::string(text).replace(at, 1, 1, other), original, refused);
      expect_harmless(std::string(text).insert(at, 1, other), original, refused);
      edits += other != text[at] ? 2 : 1;
    }
    expect_harmless(std::string(text).erase(at, 1), original, refused);
    ++edits;
  }
  EXPECT_GT(refused, edits * 8 / 10);  // the others are spaces
}

TEST(Lockfiles, EveryTruncationIsRefused) {
  const std::string text = with({sample_entry()}).text();
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_THROW(Lockfile::parse(text.substr(0, size), "t.json"), UserError) << size;
  }
}

}  // namespace
}  // namespace wkvc
