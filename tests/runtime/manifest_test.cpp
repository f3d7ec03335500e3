#include "runtime/manifest.h"

#include <nlohmann/json.hpp>

#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_kernel.h"

namespace wkvc {
namespace {

using nlohmann::json;

json good() {
  const std::string line = tiny_manifest_line();
  return json::parse(line.substr(line.find('{')));
}

Manifest parse(const json& object) { return manifest_from("// wkvc-manifest: " + object.dump() + "\n"); }

void expect_refused(const json& patch, const std::vector<std::string>& parts) {
  json object = good();
  object.update(patch);
  expect_error([&] { parse(object); }, parts);
}

void expect_tensor_refused(const char* key, const json& value, const std::vector<std::string>& parts) {
  json object = good();
  object["tensors"][0][key] = value;
  expect_error([&] { parse(object); }, parts);
}

TEST(Manifests, RoundTrip) {
  const Manifest manifest = manifest_from(tiny_kernel());
  EXPECT_EQ(manifest.kernel, "tiny");
  EXPECT_EQ(manifest.tensors.size(), 5U);
  EXPECT_EQ(manifest.tensors[1].role, Role::parameter);
  EXPECT_EQ(manifest.tensors[3].dims, (std::vector<std::string>{"B", "H", "V", "K"}));
  EXPECT_EQ(to_line(manifest), tiny_manifest_line());
}

TEST(Manifests, StayOnOneLineWhateverTheTextsHold) {
  Manifest manifest = manifest_from(tiny_kernel());
  manifest.config = "two\nlines \\";
  const std::string line = to_line(manifest);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(manifest_from("#include <x>\n" + line + "int x;").config, manifest.config);
}

TEST(Manifests, AreNeededExactlyOnce) {
  expect_error([] { manifest_from("int x;\n"); }, {"no line that begins with", "wkvc-manifest"});
  expect_error([] { manifest_from(""); }, {"no line"});
  expect_error([] { manifest_from(tiny_manifest_line() + tiny_manifest_line()); }, {"two lines"});
}

TEST(Manifests, RefuseBrokenJson) {
  expect_error([] { manifest_from("// wkvc-manifest: {\n"); }, {"not valid JSON"});
  expect_error([] { manifest_from("// wkvc-manifest: [1]\n"); }, {"array", "expected an object"});
  expect_error([] { manifest_from("// wkvc-manifest: {\"op\":\"a\",\"op\":\"b\"}\n"); }, {"\"op\" twice"});
}

TEST(Manifests, SurviveEveryTruncation) {
  const std::string line = tiny_manifest_line();
  for (std::size_t size = 0; size + 1 < line.size(); ++size) {
    EXPECT_THROW(manifest_from(line.substr(0, size)), UserError) << size;
  }
}

TEST(Manifests, RefuseWrongFields) {
  expect_refused({{"extra", 1}}, {"unknown key \"extra\"", "shared_bytes"});
  expect_refused({{"kernel", "a b"}}, {"\"kernel\"", "\"a b\"", "C identifier"});
  expect_refused({{"kernel", "9a"}}, {"C identifier"});
  expect_refused({{"kernel", ""}}, {"C identifier"});
  expect_refused({{"kernel", "x;system"}}, {"C identifier"});
  expect_refused({{"kernel", 5}}, {"\"kernel\" is 5", "a string"});
  expect_refused({{"op", "a-b"}}, {"\"op\""});
  expect_refused({{"arch", "sm_90a --evil"}}, {"\"arch\"", "sm_90a"});
  expect_refused({{"arch", "compute_90"}}, {"\"arch\""});
  expect_refused({{"warps", 33}}, {"\"warps\" is 33", "from 1 to 32"});
  expect_refused({{"warps", 0}}, {"\"warps\""});
  expect_refused({{"chunk", 1.5}}, {"\"chunk\"", "integer"});
  expect_refused({{"chunk", 18446744073709551615ULL}}, {"\"chunk\""});
  expect_refused({{"shared_bytes", -1}}, {"\"shared_bytes\" is -1"});
  expect_refused({{"tensors", json::array()}}, {"\"tensors\"", "not empty"});
  expect_refused({{"tensors", {1}}}, {"tensor 0", "number", "expected an object"});
  json lacking = good();
  lacking.erase("chunk");
  expect_error([&] { parse(lacking); }, {"lacks the key \"chunk\""});
}

TEST(Manifests, RefuseWrongTensors) {
  expect_tensor_refused("name", "a b", {"tensor 0", "C identifier"});
  expect_tensor_refused("name", "s", {"\"s\" twice"});
  expect_tensor_refused("role", "result", {"\"result\"", "final_state"});
  expect_tensor_refused("dtype", "f64", {"\"f64\"", "bf16"});
  expect_tensor_refused("dims", {"B", "T", "H", "D"}, {"dims", "positive numbers"});
  expect_tensor_refused("dims", {"B", "T", "H", "0"}, {"dims", "positive numbers"});
  expect_tensor_refused("dims", {"B", "T", "H", 4}, {"dims", "as strings"});
  expect_tensor_refused("dims", {"T", "B", "H", "K"}, {"the order"});
  expect_tensor_refused("dims", {"B", "T", "H", "H"}, {"the order"});
  expect_tensor_refused("dims", {"B", "H", "K"}, {"the order"});
  expect_tensor_refused("dims", {"K"}, {"the order"});
}

TEST(Manifests, TakeEveryLayout) {
  for (const json& dims : {json{"B", "T", "H", "16"}, json{"B", "T", "H"}, json{"B", "H", "V", "K"}, json{"H", "K"}}) {
    json object = good();
    object["tensors"][0]["dims"] = dims;
    EXPECT_NO_THROW(parse(object)) << dims;
  }
}

}  // namespace
}  // namespace wkvc
