#include "runtime/manifest/manifest.h"

#include <nlohmann/json.hpp>

#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_kernel.h"
#include "tests/runtime/tiny_program.h"

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

TEST(Manifests, HaveSegments) {
  json object = good();
  object["segments"] = 8;
  const Manifest manifest = parse(object);
  EXPECT_EQ(manifest.segments, 8);
  EXPECT_EQ(manifest_from(to_line(manifest)).segments, 8);
  expect_refused({{"segments", 0}}, {"\"segments\" is 0", "from 1"});
  expect_refused({{"segments", "8"}}, {"\"segments\" is \"8\"", "an integer"});
}

TEST(Manifests, HaveClusters) {
  json object = good();
  object["cluster"] = 2;
  const Manifest manifest = parse(object);
  EXPECT_EQ(manifest.cluster, 2);
  EXPECT_EQ(manifest_from(to_line(manifest)).cluster, 2);
  expect_refused({{"cluster", 0}}, {"\"cluster\" is 0", "from 1 to 8"});
  expect_refused({{"cluster", 6}}, {"\"cluster\" is 6", "1, 2, 4 or 8"});
  expect_refused({{"cluster", 9}}, {"\"cluster\" is 9", "from 1 to 8"});
}

TEST(Manifests, HavePartsOfHeads) {
  json object = good();
  object["parts"] = 4;
  const Manifest manifest = parse(object);
  EXPECT_EQ(manifest.head_values(), 4 * manifest.value_dim);
  EXPECT_EQ(manifest_from(to_line(manifest)).parts, 4);
  expect_refused({{"parts", 0}}, {"\"parts\" is 0", "from 1 to 32"});
  expect_refused({{"parts", 33}}, {"\"parts\" is 33", "from 1 to 32"});
}

TEST(Manifests, SayWhoDoesWhatWasRefused) {
  json object = good();
  EXPECT_FALSE(parse(object).refused);
  object["refused"] = 1;
  EXPECT_TRUE(parse(object).refused);
  EXPECT_TRUE(manifest_from(to_line(parse(object))).refused);
  expect_refused({{"refused", 2}}, {"\"refused\" is 2", "from 0 to 1"});
}

TEST(Manifests, OfSeveralKernelsComeInOrder) {
  const std::vector<Manifest> manifests = manifests_from(tiny_program());
  ASSERT_EQ(manifests.size(), 3U);
  EXPECT_EQ(manifests[0].pass, Direction::forward);
  EXPECT_EQ(manifests[0].saved_every, 2);
  EXPECT_EQ(manifests[0].grid, Grid::batch_head);
  EXPECT_EQ(manifests[1].pass, Direction::backward);
  EXPECT_EQ(manifests[2].kernel, "tiny_sum");
  EXPECT_EQ(manifests[2].saved_every, 0);
  EXPECT_EQ(manifests[2].grid, Grid::head);
  std::string lines;
  for (const Manifest& manifest : manifests) lines += to_line(manifest);
  EXPECT_EQ(lines, tiny_forward_line() + tiny_backward_lines());
  expect_error([] { manifest_from(tiny_program()); }, {"3 kernels"});
}

TEST(Manifests, RolesHaveNames) {
  for (int role = 0; role <= static_cast<int>(Role::workspace); ++role) {
    EXPECT_EQ(role_from(name_of(static_cast<Role>(role))), static_cast<Role>(role));
  }
  EXPECT_EQ(role_from("result"), std::nullopt);
  const TensorSpec spec{"dfinal_state", Role::final_state_gradient, DType::f32, {}};
  EXPECT_EQ(differentiated(spec), "final_state");
}

TEST(Manifests, StayOnOneLineWhateverTheTextsHold) {
  Manifest manifest = manifest_from(tiny_kernel());
  manifest.config = "two\nlines \\";
  const std::string line = to_line(manifest);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  expect_error([&] { manifest_from("#include <x>\n" + line + "int x;"); },
               {"two\\nlines", "without control characters"});
  manifest.config = "one \"line\" \\";
  EXPECT_EQ(manifest_from("#include <x>\n" + to_line(manifest) + "int x;").config, manifest.config);
}

TEST(Manifests, AreNeededExactlyOnce) {
  expect_error([] { manifest_from("int x;\n"); }, {"no line that begins with", "wkvc-manifest"});
  expect_error([] { manifest_from(""); }, {"no line"});
  expect_error([] { manifest_from(tiny_manifest_line() + tiny_manifest_line()); }, {"two manifests", "\"tiny\""});
}

TEST(Manifests, SayWhatTheirKernelsSay) {
  const std::string line = tiny_manifest_line();
  const Manifest manifest = manifest_from(line);
  const auto text = [&](std::size_t tensors, int warps) {
    return line + "WKVC_KERNEL(" + manifest.kernel + ", " + std::to_string(tensors) + ", " + std::to_string(warps) +
           ", 1) {\n}\n";
  };
  const std::size_t tensors = manifest.tensors.size();
  EXPECT_NO_THROW(manifest_from(text(tensors, manifest.warps)));
  expect_error([&] { manifest_from(text(tensors, manifest.warps + 1)); }, {"\"tiny\"", "warps", "WKVC_KERNEL(tiny, "});
  expect_error([&] { manifest_from(text(tensors - 1, manifest.warps)); }, {"\"tiny\"", "tensors"});
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
  expect_refused({{"pass", "both"}}, {"\"pass\" is \"both\"", "forward or backward"});
  expect_refused({{"pass", 1}}, {"\"pass\" is 1", "a string"});
  expect_refused({{"grid", "B"}}, {"\"grid\" is \"B\"", "BH or H"});
  expect_refused({{"saved_every", -1}}, {"\"saved_every\" is -1"});
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
  expect_tensor_refused("dims", {"B", "T", "H", "N"}, {"the order"});
  expect_tensor_refused("role", "input_gradient", {"\"x\"", "\"d\" and a name", "input_gradient"});
  expect_tensor_refused("role", "saved_states", {"B,H,N,D,D"});
}

void expect_taken(const char* role, const json& dims, int saved_every = 0) {
  json object = good();
  object["saved_every"] = saved_every;
  object["tensors"][0]["role"] = role;
  object["tensors"][0]["dims"] = dims;
  EXPECT_NO_THROW(parse(object)) << dims;
}

TEST(Manifests, TakeEveryLayout) {
  for (const json& dims : {json{"B", "T", "H", "16"}, json{"B", "T", "H"}, json{"B", "H", "V", "K"}, json{"H", "K"}}) {
    expect_taken("input", dims);
    expect_taken("workspace", dims);
  }
  const json one = json::array({"3"});
  for (const json& dims : {json{"B", "H", "K"}, json{"H", "16"}, json{"B", "H"}, one}) expect_taken("workspace", dims);
  expect_taken("workspace", {"B", "H", "G", "V", "K"}, 1);
  expect_taken("saved_states", {"B", "H", "N", "V", "K"}, 4);
  expect_taken("kept", {"B", "T", "H", "16"});
  expect_taken("kept", {"B", "T", "H"});
}

TEST(Manifests, RefuseOtherWorkspaces) {
  for (const json& dims : {json{"K", "B"}, json{"H", "B"}, json{"T", "K"}, json{"B", "H", "T"}}) {
    json object = good();
    object["tensors"][0]["role"] = "workspace";
    object["tensors"][0]["dims"] = dims;
    expect_error([&] { parse(object); }, {"as a workspace has"});
  }
}

TEST(Manifests, KeepByTokens) {
  json object = good();
  object["tensors"][0]["role"] = "kept";
  object["tensors"][0]["dims"] = {"B", "H", "K"};
  expect_error([&] { parse(object); }, {"B,T,H[,D]", "kept of tokens"});
}

TEST(Manifests, RefuseManyDimensions) {
  json object = good();
  object["tensors"][0]["role"] = "workspace";
  object["tensors"][0]["dims"] = {"B", "H", "2", "3", "4", "5"};
  EXPECT_NO_THROW(parse(object));
  object["tensors"][0]["dims"].push_back("6");
  expect_error([&] { parse(object); }, {"\"dims\"", "at most 6"});
}

TEST(Manifests, SavedStatesNeedADistance) {
  json object = good();
  object["tensors"][0]["role"] = "workspace";
  object["tensors"][0]["dims"] = {"B", "H", "G", "K"};
  expect_error([&] { parse(object); }, {"\"x\" has the dimension G", "saved_every"});
}

}  // namespace
}  // namespace wkvc
