#include "autotune/lockfile/shape_class.h"

#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

const ShapeClass sample{"rwkv7", "both", DType::f16, 64, 128, "f16", {8, 4096, 64}};

ShapeClass read(const json& object) { return shape_class_from(JsonFields(object, "entry 1", shape_class_keys())); }

json sample_json() {
  ordered_json object = ordered_json::object();
  add_shape_class(object, sample);
  return object;
}

TEST(ShapeClasses, RoundTrip) {
  EXPECT_EQ(read(sample_json()), sample);
  EXPECT_EQ(text_of(sample), "rwkv7 both 8,4096,64, head 64x128, io f16, mma f16");
}

TEST(ShapeClasses, RefuseMistakes) {
  const auto refused = [](const json& patch, const std::vector<std::string>& parts) {
    SCOPED_TRACE(patch.dump());
    json object = sample_json();
    object.update(patch);
    expect_error([&] { read(object); }, parts);
  };
  refused({{"op", "a-b"}}, {"entry 1", "\"op\"", "C identifier"});
  refused({{"pass", "backward"}}, {"\"pass\" is \"backward\"", "forward or both"});
  refused({{"io", "f64"}}, {"\"io\" is \"f64\"", "bf16 or f16 or f32"});
  refused({{"accuracy", ""}}, {"\"accuracy\"", "any"});
  refused({{"head", 64}}, {"\"head\"", "number, expected an object"});
  refused({{"head", {{"K", 64}}}}, {"\"head\" lacks the key \"V\""});
  refused({{"head", {{"K", 0}, {"V", 64}}}}, {"\"K\" is 0", "from 1"});
  refused({{"shape", {{"B", 1}, {"T", 1}}}}, {"\"shape\" lacks the key \"H\""});
  refused({{"shape", {{"B", 1}, {"T", 1}, {"H", 0}}}}, {"\"H\" is 0"});
  refused({{"shape", {{"B", 4294967296}, {"T", 4294967296}, {"H", 1}}}}, {"\"shape\"", "63 bits"});
}

TEST(ShapeClasses, AreOfOneKindWhenOnlySizesDiffer) {
  ShapeClass other = sample;
  other.size = {1, 1, 1};
  EXPECT_TRUE(same_kind(sample, other));
  for (const auto& change : std::vector<void (*)(ShapeClass&)>{
           [](ShapeClass& x) { x.op = "rwkv6"; }, [](ShapeClass& x) { x.pass = "forward"; },
           [](ShapeClass& x) { x.io = DType::f32; }, [](ShapeClass& x) { x.key_dim = 128; },
           [](ShapeClass& x) { x.value_dim = 64; }, [](ShapeClass& x) { x.accuracy = "any"; }}) {
    other = sample;
    change(other);
    EXPECT_FALSE(same_kind(sample, other)) << text_of(other);
  }
}

TEST(ShapeClasses, CountBlocksOfOneSm) {
  EXPECT_EQ(blocks_for_one_sm({1, 1, 1}, 132), 1);
  EXPECT_EQ(blocks_for_one_sm({1, 1, 132}, 132), 1);
  EXPECT_EQ(blocks_for_one_sm({1, 1, 133}, 132), 2);
  EXPECT_EQ(blocks_for_one_sm({8, 1, 64}, 132), 4);
}

TEST(ShapeClasses, AreComparedByBlocksThenTokensThenPairs) {
  const auto to = [](LaunchSize size) { return distance({8, 4096, 64}, 132, size, 132); };
  EXPECT_EQ(to({8, 4096, 64}), SizeDistance());
  EXPECT_EQ(to({64, 4096, 8}), SizeDistance());
  EXPECT_EQ(to({4, 4096, 64}), (SizeDistance{1, 0, 1}));  // 2 blocks instead of 4
  EXPECT_EQ(to({16, 8192, 64}), (SizeDistance{1, 1, 1}));
  EXPECT_EQ(distance({1, 64, 64}, 132, {1, 64, 64}, 32), (SizeDistance{1, 0, 0}));  // 1 and 2
  EXPECT_LT(to({8, 1, 64}), to({4, 4096, 64}));                                     // whatever the tokens
  EXPECT_LT(to({8, 4096, 50}), to({8, 4095, 64}));                                  // whatever the pairs
  EXPECT_EQ(to({8, 0, 64}), to({8, 1, 64}));
  EXPECT_TRUE(is_near(to({11, 8192, 64})));
  EXPECT_TRUE(is_near(to({6, 2048, 64})));
  EXPECT_FALSE(is_near(to({6, 2047, 64})));
  EXPECT_FALSE(is_near(to({12, 4096, 64})));
}

}  // namespace
}  // namespace wkvc
