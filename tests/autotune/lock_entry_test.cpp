#include "autotune/lockfile/lock_entry.h"

#include "runtime/base/hash.h"
#include "tests/autotune/samples.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

using nlohmann::json;

TEST(LockEntries, RoundTrip) {
  const LockEntry entry = sealed(sample_entry());
  const LockEntry back = entry_from(json(entry_json(entry)), "entry 1");
  EXPECT_EQ(entry_json(back), entry_json(entry));
  EXPECT_TRUE(is_sealed(back));
  EXPECT_EQ(back.ms, 4.45123);  // six digits
  EXPECT_EQ(back.errors.at("o"), (Accuracy{1.70123e-3, 1.8e-3}));
  EXPECT_EQ(back.config.blocks, 2);
  EXPECT_EQ(back.evidence, sample_entry().evidence);
}

TEST(LockEntries, EveryFieldIsUnderTheSeal) {
  const json whole = entry_json(sealed(sample_entry()));
  const json flat = whole.flatten();
  int changed = 0;
  for (const auto& [path, value] : flat.items()) {
    json other = whole;
    json& field = other[json::json_pointer(path)];
    if (path == "/seal") continue;
    if (value.is_number_float()) field = value.get<double>() * 0.999;
    if (value.is_number_integer()) field = value.get<std::uint64_t>() + 16;
    if (value.is_string()) continue;
    EXPECT_FALSE(is_sealed(entry_from(other, "entry 1"))) << path;
    ++changed;
  }
  EXPECT_EQ(changed, 5 + 1 + 3 + 2 + 4 + 2);  // shape class, GPU, configuration, times, errors, evidence
}

TEST(LockEntries, TextsAreUnderTheSeal) {
  const json whole = entry_json(sealed(sample_entry()));
  const std::vector<std::pair<const char*, const char*>> edits{{"/op", "rwkv6"},
                                                               {"/io", "f32"},
                                                               {"/accuracy", "bf16"},
                                                               {"/gpu/name", "H100"},
                                                               {"/gpu/arch", "sm_100a"},
                                                               {"/config/mma", "f16"},
                                                               {"/config/saved", "f32"},
                                                               {"/evidence/wkvc", "2"},
                                                               {"/evidence/nvrtc", "12.8"},
                                                               {"/evidence/driver", "1"},
                                                               {"/evidence/date", "2026-11-21T19:30:01Z"}};
  for (const auto& [path, text] : edits) {
    json other = whole;
    other[json::json_pointer(path)] = text;
    EXPECT_FALSE(is_sealed(entry_from(other, "entry 1"))) << path;
  }
  for (const char* path : {"/recurrence", "/evidence/outputs", "/seal"}) {
    json other = whole;
    other[json::json_pointer(path)] = hex_hash("another");
    EXPECT_FALSE(is_sealed(entry_from(other, "entry 1"))) << path;
  }
}

TEST(LockEntries, RefuseMistakes) {
  const auto refused = [](const json& patch, const std::vector<std::string>& parts) {
    SCOPED_TRACE(patch.dump());
    json object = entry_json(sealed(sample_entry()));
    object.merge_patch(patch);  // null takes a key out
    expect_error([&] { entry_from(object, "t.json: entry 3"); }, parts);
  };
  refused({{"note", "mine"}}, {"t.json: entry 3 has the unknown key \"note\"", "ratio_to_copy"});
  refused({{"gpu", nullptr}}, {"t.json: entry 3 lacks the key \"gpu\""});
  refused({{"gpu", "H200"}}, {"\"gpu\" is a JSON string"});
  refused({{"gpu", {{"name", ""}}}}, {"\"name\" is \"\"", "NVIDIA H200"});
  refused({{"gpu", {{"arch", "hopper"}}}}, {"\"arch\" is \"hopper\"", "sm_90a"});
  refused({{"gpu", {{"sm_count", 0}}}}, {"\"sm_count\" is 0", "from 1"});
  refused({{"recurrence", "12"}}, {"\"recurrence\" is \"12\"", "32 hexadecimal digits"});
  refused({{"config", {{"chunk", 17}}}}, {"t.json: entry 3's \"config\"", "\"chunk\" is 17"});
  refused({{"config", "fast"}}, {"\"config\" is a JSON string"});
  refused({{"ms", 0}}, {"\"ms\" is 0"});
  refused({{"ms", "4.45"}}, {"\"ms\" is \"4.45\"", "a number"});
  refused({{"ratio_to_copy", -1}}, {"\"ratio_to_copy\" is -1"});
  refused({{"errors", {{"o", nullptr}, {"dr", nullptr}}}}, {"\"errors\" is {}", "at least one"});
  refused({{"errors", {{"o", {{"error", 2e-3}}}}}}, {"the error of \"o\", 0.002, is not within its bound, 0.0018"});
  refused({{"evidence", {{"driver", ""}}}}, {"\"evidence\"", "\"driver\" is \"\"", "not empty"});
  refused({{"evidence", {{"date", "yesterday"}}}}, {"\"date\" is \"yesterday\"", "2026-11-21T19:30:00Z"});
  refused({{"evidence", {{"candidates", 0}}}}, {"\"candidates\" is 0"});
  refused({{"evidence", {{"seed", -1}}}}, {"\"seed\" is -1", "2^64 - 1"});
  refused({{"seal", "ABC"}}, {"\"seal\" is \"ABC\""});
}

TEST(LockEntries, RefuseSettingsThatContradictWhatTheyAreOf) {
  json object = entry_json(sealed(sample_entry()));
  object["accuracy"] = "f16";
  expect_error([&] { entry_from(object, "entry 3"); }, {"\"mma\":\"bf16\"", "that of \"accuracy\", f16"});
  object["accuracy"] = "bf16";
  EXPECT_NO_THROW(entry_from(object, "entry 3"));
  object["pass"] = "forward";
  expect_error([&] { entry_from(object, "entry 3"); }, {"no \"save_every\" in a forward pass"});
}

TEST(LockEntries, ErrorsOfNullAreRefused) {
  json object = entry_json(sealed(sample_entry()));
  object["errors"]["o"]["error"] = nullptr;
  expect_error([&] { entry_from(object, "entry 3"); }, {"\"o\"", "nan", "not within its bound"});
}

TEST(LockEntries, DatesAreReadBack) {
  LockEntry entry = sample_entry();
  entry.evidence.date = timestamp(std::chrono::system_clock::from_time_t(1795289400));
  EXPECT_EQ(entry.evidence.date, "2026-11-21T19:30:00Z");
  EXPECT_NO_THROW(entry_from(json(entry_json(sealed(entry))), "entry"));
}

TEST(Hashes, AreXxh3) {
  EXPECT_EQ(hex_hash(""), "99aa06d3014798d86001c324468d497f");  // as the XXH3 specification has it
  EXPECT_TRUE(is_hex_hash(hex_hash("x")));
  EXPECT_FALSE(is_hex_hash(hex_hash("x") + "0"));
  EXPECT_FALSE(is_hex_hash(std::string(32, 'G')));
}

}  // namespace
}  // namespace wkvc
