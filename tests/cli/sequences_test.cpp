// Sequences one behind the other, slots of states and shared heads, from files and with --shape.
#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/tensor/safetensors.h"
#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

using Numbers = std::vector<std::int64_t>;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kSlots = 6;

// The bytes of a safetensors file with one more tensor, of I64.
std::string with_numbers(const std::string& file, const std::string& name, const Numbers& numbers) {
  std::uint64_t size = 0;
  std::memcpy(&size, file.data(), sizeof size);
  Json header = Json::parse(file.substr(sizeof size, size));
  const std::string data = file.substr(sizeof size + size);
  const std::string more(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t));
  header[name] = {
      {"dtype", "I64"}, {"shape", {numbers.size()}}, {"data_offsets", {data.size(), data.size() + more.size()}}};
  const std::string text = header.dump();
  size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text + data + more;
}

class SequencesInFiles : public CommandTest {
 protected:
  // The real activations, cut into sequences, with a pool of states.
  std::string cut(const Numbers& starts, const Numbers& slots) {
    TensorMap tensors = read_safetensors(activations).tensors;
    std::erase_if(tensors, [](const auto& tensor) { return tensor.first.size() > 1 || tensor.first == "o"; });
    tokens_ = tensors.at("r").shape()[1];
    HostTensor pool(DType::f32, {kSlots, 1, 64, 64});
    for (std::size_t i = 0; i < pool.size(); ++i) pool.set(i, static_cast<double>(i % 17) / 16 - 0.5);
    if (!slots.empty()) tensors["initial_state"] = pool;
    const std::string path = file("given.safetensors", "");
    write_safetensors(path, tensors);
    std::string bytes = contents_of(path);
    if (!starts.empty()) bytes = with_numbers(bytes, "cu_seqlens", starts);
    if (!slots.empty()) bytes = with_numbers(bytes, "state_indices", slots);
    return file("cut.safetensors", bytes);
  }
  void expect_bad(const Numbers& starts, const Numbers& slots, const std::string& part) {
    expect_mistake({"check", "rwkv7", "--device", "cpu", "--input", cut(starts, slots)}, part);
  }

  std::int64_t tokens_ = read_safetensors(activations).tensors.at("r").shape()[1];
};

TEST_F(SequencesInFiles, AreChecked) {
  for (const Numbers& slots : {Numbers{}, Numbers{5, 0, 3}}) {
    const Outcome found = wkvc({"check", "rwkv7", "--device", "cpu", "--input", cut({0, 7, 7, tokens_}, slots)});
    EXPECT_EQ(found.status, 0) << found.out << found.err;
    EXPECT_NE(found.out.find("of 3 sequences"), std::string::npos) << found.out;
  }
  const Outcome backward = wkvc({"check", "rwkv7", "--device", "cpu", "--shape", "1,5+0+37,6/2", "--shared", "r,k",
                                 "--pass", "both", "--head", "32"});
  EXPECT_EQ(backward.status, 0) << backward.out << backward.err;
}

TEST_F(SequencesInFiles, LeaveOtherSlotsAsTheyWere) {
  const std::string path = cut({0, 7, tokens_}, {4, 1});
  const std::string output = directory() / "out.safetensors";
  const Outcome found = wkvc({"run", "rwkv7", "--device", "cpu", "--input", path, "--output", output});
  ASSERT_EQ(found.status, 0) << found.out << found.err;
  const TensorMap before = read_safetensors(path).tensors, after = read_safetensors(output).tensors;
  const HostTensor &pool = before.at("initial_state"), &states = after.at("final_state");
  ASSERT_EQ(states.shape(), pool.shape());
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const std::size_t slot = i / (64 * 64);
    ASSERT_TRUE(slot == 4 || slot == 1 || states.get(i) == pool.get(i)) << i;
  }
  EXPECT_NE(states.get(64 * 64), pool.get(64 * 64));
}

TEST_F(SequencesInFiles, OfOtherStartsAndSlotsAreMistakes) {
  expect_bad({1, tokens_}, {}, "cu_seqlens begins with 1, expected 0");
  expect_bad({0, 9, 8, tokens_}, {}, "cu_seqlens decreases from 9 to 8 at 2");
  expect_bad({0, tokens_ + 1}, {}, fmt::format("cu_seqlens ends with {}, expected {}", tokens_ + 1, tokens_));
  expect_bad({0, 7, tokens_}, {4, 4}, "state_indices has the slot 4 twice");
  expect_bad({0, 7, tokens_}, {4, 6}, "state_indices has the slot 6, expected 0 to 5");
  expect_bad({0, 7, tokens_}, {-1, 2}, "state_indices has the slot -1, expected 0 to 5");
  expect_bad({0, 7, tokens_}, {4}, "state_indices has 1 numbers, expected 2");
}

TEST_F(SequencesInFiles, ShapesAreChecked) {
  const auto expect = [&](const std::string& shape, const std::string& part) {
    expect_mistake({"check", "rwkv7", "--device", "cpu", "--shared", "r", "--shape", shape}, part);
  };
  expect("2,5+6,2", "B is 2, expected 1 with lengths");
  expect("1,5+x,2", "'x' is no length of a sequence");
  expect("1,5,6/4", "H = 6 and S = 4");
  expect("1,5,6/0", "expected H or H/S");
  expect("1,5,6/2/2", "expected H or H/S");
  expect_mistake({"check", "rwkv7", "--device", "cpu", "--shape", "1,5,6/2"},
                 "--shape 1,5,6/2: 2 of 6 heads are shared, but no input of rwkv7 is: name some, such as --shared r,k");
  expect_mistake({"check", "--source", naive_kernel, "--device", "cpu", "--shape", "1,5,6/2"},
                 "start from a text of the rec stage, with --shared NAMES");
}

}  // namespace
}  // namespace wkvc::test
