// The C interface: statuses and messages, and one launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "codegen/compiler.h"
#include "dsl/registry.h"
#include "jit/wkvc.h"

namespace {

using ::testing::HasSubstr;

struct Prepared {
  Prepared() { status = wkvc_prepare("rwkv7", "--head 16 --io f32 --mma f32 --pass both", WKVC_HOST, &op); }
  ~Prepared() { wkvc_release(op); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  wkvc_operator* op = nullptr;
  wkvc_status status;
};

constexpr std::array<std::int64_t, 4> shape{1, 5, 1, 16};

// Inputs of 0.1 and results of NaN, without states.
struct Forward {
  explicit Forward(const wkvc_operator* op) {
    const std::int32_t count = wkvc_tensor_count(op, WKVC_FORWARD);
    tensors.resize(static_cast<std::size_t>(count));
    values.resize(tensors.size());
    for (std::int32_t i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      wkvc_tensor_info info;
      EXPECT_EQ(wkvc_tensor_at(op, WKVC_FORWARD, i, &info), WKVC_OK);
      if (info.is_optional != 0) continue;
      EXPECT_STREQ(info.dims, std::strchr("vo", info.name[0]) != nullptr ? "B T H V" : "B T H K");
      values[place].assign(80, info.is_result != 0 ? NAN : 0.1F);
      tensors[place] = {values[place].data(), shape.data(), nullptr, info.rank, info.dtype};
      if (info.is_result != 0) o = place;
    }
    std::int64_t bytes = 0;
    EXPECT_EQ(wkvc_workspace_bytes(op, 1, 5, 1, &bytes), WKVC_OK);
    EXPECT_GT(bytes, 0);
    memory.resize(static_cast<std::size_t>(bytes) + 256);
  }
  wkvc_status launch(const wkvc_operator* op) {
    auto* const aligned = memory.data() + (256 - reinterpret_cast<std::uintptr_t>(memory.data()) % 256);
    return wkvc_launch(op, WKVC_FORWARD, 1, 5, 1, tensors.data(), static_cast<std::int32_t>(tensors.size()), aligned,
                       nullptr, WKVC_CHECK_MEMORY);
  }

  std::vector<wkvc_tensor> tensors;
  std::vector<std::vector<float>> values;
  std::vector<char> memory;
  std::size_t o = 0;
};

TEST(CApi, Launches) {
  const Prepared prepared;
  ASSERT_EQ(prepared.status, WKVC_OK) << wkvc_message();
  Forward forward(prepared.op);
  ASSERT_EQ(forward.launch(prepared.op), WKVC_OK) << wkvc_message();
  EXPECT_NEAR(forward.values[forward.o][0], 16 * 0.001, 1e-6);  // of the first token: v·(k·r)
  for (const float value : forward.values[forward.o]) EXPECT_TRUE(std::isfinite(value));
  EXPECT_GT(wkvc_tensor_count(prepared.op, WKVC_BACKWARD), wkvc_tensor_count(prepared.op, WKVC_FORWARD));
}

TEST(CApi, LaunchesSequences) {
  const Prepared prepared;
  ASSERT_EQ(prepared.status, WKVC_OK) << wkvc_message();
  Forward forward(prepared.op);
  const std::array<std::int32_t, 3> starts{0, 2, 5};
  wkvc_sequences sequences{2, WKVC_STARTS_32, nullptr, nullptr, 0, 0, nullptr};
  std::int64_t bytes = 0;
  ASSERT_EQ(wkvc_sequences_workspace_bytes(prepared.op, &sequences, 5, 1, &bytes), WKVC_OK) << wkvc_message();
  std::vector<char> workspace(static_cast<std::size_t>(bytes) + 256);
  auto* const aligned = workspace.data() + (256 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 256);
  const auto launch = [&] {
    return wkvc_launch_sequences(prepared.op, WKVC_FORWARD, &sequences, 5, 1, forward.tensors.data(),
                                 static_cast<std::int32_t>(forward.tensors.size()), aligned, nullptr,
                                 WKVC_CHECK_MEMORY);
  };
  EXPECT_EQ(launch(), WKVC_USER_ERROR);
  EXPECT_THAT(wkvc_message(), HasSubstr("map of sequences is null"));
  sequences.starts = starts.data();
  ASSERT_EQ(launch(), WKVC_OK) << wkvc_message();
  const std::vector<float>& o = forward.values[forward.o];
  EXPECT_EQ(o[0], o[std::size_t{2} * 16]);  // both begin without a state
  EXPECT_NE(o[std::size_t{1} * 16], o[std::size_t{2} * 16]);
  const std::array<std::int32_t, 3> decreasing{0, 4, 3};
  sequences.starts = decreasing.data();
  EXPECT_EQ(launch(), WKVC_USER_ERROR);
  EXPECT_THAT(wkvc_message(), HasSubstr("decreases from 4 to 3 at 2"));
  wkvc_report report{0, 0};
  sequences.report = &report;
  EXPECT_EQ(launch(), WKVC_OK) << wkvc_message();
  EXPECT_EQ(report.starts, 2);
  sequences.report = nullptr;
  sequences.starts = starts.data();
  const std::array<std::int32_t, 2> slots{-1, 0};
  sequences.slots = slots.data();
  sequences.slot_count = 1;
  std::ranges::fill(forward.values[forward.o], 7.F);
  ASSERT_EQ(launch(), WKVC_OK) << wkvc_message();
  EXPECT_EQ(o[std::size_t{1} * 16], 7.F);  // of a sequence without a slot
  EXPECT_NE(o[std::size_t{2} * 16], 7.F);
  sequences.layout = 3;
  EXPECT_EQ(launch(), WKVC_USER_ERROR);
  EXPECT_THAT(wkvc_message(), HasSubstr("layout is 3"));
}

TEST(CApi, HasIntermediateStates) {
  wkvc_operator* op = nullptr;
  ASSERT_EQ(wkvc_prepare("rwkv7", "--head 16 --io f32 --chunk 1 --states-every 2 --state bf16", WKVC_HOST, &op),
            WKVC_OK)
      << wkvc_message();
  const std::int32_t last = wkvc_tensor_count(op, WKVC_FORWARD) - 1;
  wkvc_tensor_info info;
  ASSERT_EQ(wkvc_tensor_at(op, WKVC_FORWARD, last, &info), WKVC_OK);
  EXPECT_STREQ(info.name, "intermediate_states");
  EXPECT_STREQ(info.dims, "B M H V K");
  EXPECT_EQ(info.dtype, WKVC_BF16);
  EXPECT_EQ(info.is_result, 1);
  EXPECT_EQ(info.is_optional, 1);
  wkvc_release(op);
}

TEST(CApi, SaysWhatIsWrongWithALaunch) {
  const Prepared prepared;
  ASSERT_EQ(prepared.status, WKVC_OK) << wkvc_message();
  const auto expect = [&](const auto& spoil, const char* part) {
    Forward forward(prepared.op);
    spoil(forward);
    EXPECT_EQ(forward.launch(prepared.op), WKVC_USER_ERROR) << part;
    EXPECT_THAT(wkvc_message(), HasSubstr(part));
  };
  static constexpr std::array<std::int64_t, 4> other{1, 6, 1, 16}, strides{80, 16, 16, 2};
  expect([](Forward& f) { f.tensors.pop_back(); }, "tensors were given");
  expect([](Forward& f) { f.tensors[0].shape = other.data(); }, "has shape [1, 6, 1, 16]");
  expect([](Forward& f) { f.tensors[0].shape = nullptr; }, "shape is null");
  expect([](Forward& f) { f.tensors[0].strides = strides.data(); }, "contiguous");
  expect([](Forward& f) { f.tensors[0].rank = 77; }, "rank 77");
  expect([](Forward& f) { f.tensors[0].rank = -1; }, "rank -1");
  expect([](Forward& f) { f.tensors[0].dtype = WKVC_BF16; }, "bf16");
  expect([](Forward& f) { f.tensors[0].dtype = 9; }, "dtype 9");
  expect([](Forward& f) { f.tensors[0].data = nullptr; }, "is null");
  // Left out: whatever else it says.
  for (const wkvc_tensor& left_out : {wkvc_tensor{}, wkvc_tensor{nullptr, nullptr, nullptr, 4, WKVC_F32},
                                      wkvc_tensor{nullptr, shape.data(), nullptr, 4, WKVC_BF16},
                                      wkvc_tensor{nullptr, other.data(), nullptr, 77, 9}}) {
    expect([&](Forward& f) { f.tensors[0] = left_out; }, "tensor \"r\" is null: only states");
  }
  expect([](Forward& f) { f.tensors[0].data = static_cast<char*>(f.tensors[0].data) + 1; }, "aligned");
  expect([](Forward& f) { f.tensors[f.o].data = f.tensors[0].data; }, "memory");
}

TEST(CApi, SaysWhatIsWrongWithPreparing) {
  wkvc_operator* op = nullptr;
  EXPECT_EQ(wkvc_prepare("rwkv9", nullptr, WKVC_HOST, &op), WKVC_USER_ERROR);
  EXPECT_THAT(wkvc_message(), HasSubstr("rwkv9"));
  EXPECT_EQ(wkvc_prepare("rwkv7", "--heads 16", WKVC_HOST, &op), WKVC_USER_ERROR);
  EXPECT_THAT(wkvc_message(), HasSubstr("--heads"));
  EXPECT_EQ(wkvc_prepare("rwkv7", "--head 17", WKVC_HOST, &op), WKVC_USER_ERROR);
  EXPECT_THAT(wkvc_message(), HasSubstr("17"));
  EXPECT_EQ(wkvc_prepare("a\nb", nullptr, WKVC_HOST, &op), WKVC_USER_ERROR);
  EXPECT_EQ(wkvc_prepare(nullptr, nullptr, WKVC_HOST, &op), WKVC_USER_ERROR);
  EXPECT_EQ(wkvc_prepare("rwkv7", nullptr, WKVC_HOST, nullptr), WKVC_USER_ERROR);
  EXPECT_EQ(wkvc_prepare("rwkv7", nullptr, static_cast<wkvc_target>(7), &op), WKVC_USER_ERROR);
  EXPECT_EQ(op, nullptr);
  const auto refused = [](const char* recurrence, const char* options, const char* part) {
    auto* result = reinterpret_cast<wkvc_operator*>(1);
    EXPECT_EQ(wkvc_prepare(recurrence, options, WKVC_HOST, &result), WKVC_USER_ERROR) << options;
    EXPECT_THAT(wkvc_message(), HasSubstr(part));
    EXPECT_EQ(result, nullptr);  // nothing to release by mistake
  };
  refused("rwkv7", "--mma 'f16", "a quote, ', that does not end");
  refused("rwkv7", "--mma \"f16", "that does not end");
  refused("rwkv7", "--help", "--help");
  refused("rwkv7", "--shape 1,64", "--shape 1,64");
  refused("rwkv7", "--sequences 0", "--sequences 0: expected a whole number from 1");
  refused("rwkv7", "--sequences 0x10", "--sequences 0x10: expected a whole number from 1");
  refused("rwkv7", "--segment 2", "there is no option '--segment'; did you mean '--segments'?");
  wkvc::Config config{.key_dim = 16, .value_dim = 16};
  const std::string rec = wkvc::rec_text(wkvc::Registry::builtin().find("rwkv7"), config);
  refused(rec.c_str(), "--head 32", "the text has settled --head; leave it out, or print another text with it");
  const std::string chunk = wkvc::lower_to(wkvc::source_from(rec), wkvc::Stage::chunk, {});
  refused(chunk.c_str(), "--mma f16 --chunk 32", "the text has settled --mma, --chunk");
  std::string cuda = wkvc::lower_to(wkvc::source_from(rec), wkvc::Stage::cuda, {});
  refused(cuda.c_str(), "--blocks 2", "the text has settled --blocks");
  cuda.replace(cuda.find("WKVC_KERNEL"), 11, "WKVC_KERNAL");
  refused(cuda.c_str(), "", "WKVC_KERNAL");  // the user's text, so the user's to mend
  EXPECT_EQ(wkvc_tensor_count(nullptr, WKVC_FORWARD), 0);
  wkvc_release(nullptr);
}

// Returns the bytes that follow from the formula, and those that the library tells.
std::pair<std::int64_t, std::int64_t> saved_bytes(const wkvc_operator* op, std::int64_t batches, std::int64_t tokens,
                                                  std::int64_t heads) {
  std::int64_t formula = 0, bytes = 0;
  for (std::int32_t i = 0; i < wkvc_saved_count(op); ++i) {
    wkvc_saved_info info;
    EXPECT_EQ(wkvc_saved_at(op, i, &info), WKVC_OK);
    const std::int64_t exact = batches * heads * ((tokens + info.tokens - 1) / info.tokens) * info.bytes;
    formula += (exact + 255) / 256 * 256;
  }
  EXPECT_EQ(wkvc_saved_bytes(op, batches, tokens, heads, nullptr, &bytes), WKVC_OK);
  return {formula, bytes};
}

TEST(CApi, TellsWhatIsSaved) {
  const Prepared prepared;
  for (const std::int64_t tokens : {0, 1, 64, 65, 1000}) {
    const auto [formula, bytes] = saved_bytes(prepared.op, 3, tokens, 5);
    EXPECT_EQ(formula, bytes) << tokens;
    EXPECT_EQ(bytes > 0, tokens > 0);
    std::int64_t whole = 0;
    EXPECT_EQ(wkvc_workspace_bytes(prepared.op, 3, tokens, 5, &whole), WKVC_OK);
    EXPECT_GE(whole, bytes);
  }
  wkvc_saved_info info;
  EXPECT_EQ(wkvc_saved_at(prepared.op, wkvc_saved_count(prepared.op), &info), WKVC_USER_ERROR);
  EXPECT_THAT(wkvc_message(), HasSubstr("there is no saved tensor"));
  EXPECT_EQ(wkvc_saved_count(nullptr), 0);
}

TEST(CApi, TellsWhatPartsOfHeadsSave) {
  wkvc_operator* op = nullptr;
  ASSERT_EQ(wkvc_prepare("rwkv7", "--head 16,64 --io f32 --pass both --parts 4", WKVC_HOST, &op), WKVC_OK)
      << wkvc_message();
  const auto [formula, bytes] = saved_bytes(op, 2, 100, 3);
  EXPECT_EQ(formula, bytes);
  EXPECT_GT(bytes, 0);
  wkvc_release(op);
}

TEST(CApi, LaunchesWithTheWorkspaceInParts) {
  const Prepared prepared;
  Forward whole(prepared.op), parts(prepared.op);
  EXPECT_EQ(whole.launch(prepared.op), WKVC_OK);
  std::int64_t saved = 0, bytes = 0;
  EXPECT_EQ(wkvc_saved_bytes(prepared.op, 1, 5, 1, nullptr, &saved), WKVC_OK);
  EXPECT_EQ(wkvc_workspace_bytes(prepared.op, 1, 5, 1, &bytes), WKVC_OK);
  std::vector<char> memory(static_cast<std::size_t>(bytes) + 512);
  auto* const first = memory.data() + (256 - reinterpret_cast<std::uintptr_t>(memory.data()) % 256);
  char* const scratch = bytes > saved ? first + saved : nullptr;
  const auto count = static_cast<std::int32_t>(parts.tensors.size());
  const auto launch = [&](void* saved_memory) {
    return wkvc_launch_parts(prepared.op, WKVC_FORWARD, 1, 5, 1, nullptr, parts.tensors.data(), count, saved_memory,
                             scratch, nullptr, WKVC_CHECK_MEMORY);
  };
  EXPECT_EQ(launch(first), WKVC_OK) << wkvc_message();
  EXPECT_EQ(parts.values, whole.values);
  EXPECT_EQ(launch(nullptr), WKVC_USER_ERROR);
  EXPECT_THAT(wkvc_message(), HasSubstr("workspace is null"));
}

TEST(CApi, EmitsTexts) {
  const char* text = nullptr;
  ASSERT_EQ(wkvc_emit("rwkv7", "--head 16 --io f32", "rec", &text), WKVC_OK);
  const std::string rec = text;
  EXPECT_THAT(rec, HasSubstr("rec.input \"r\" dim K : tensor<16xf32>"));
  ASSERT_EQ(wkvc_emit(rec.c_str(), nullptr, "rec", &text), WKVC_OK);
  EXPECT_EQ(text, rec);
  ASSERT_EQ(wkvc_emit(rec.c_str(), "--pass both", "cuda", &text), WKVC_OK);
  EXPECT_THAT(std::string(text), HasSubstr("wkvc-manifest"));
  EXPECT_EQ(wkvc_emit("rwkv7", nullptr, "sass", &text), WKVC_USER_ERROR);
  EXPECT_THAT(wkvc_message(), HasSubstr("the stage is 'sass', expected rec, chunk, placed, warp, cuda"));
  EXPECT_EQ(text, nullptr);
}

TEST(CApi, TellsWhatARecurrenceTakes) {
  const char* text = nullptr;
  ASSERT_EQ(wkvc_names(&text), WKVC_OK);
  EXPECT_NE((" " + std::string(text) + " ").find(" gated_delta_net "), std::string::npos) << text;
  ASSERT_EQ(wkvc_signature("gated_delta_net", "--head 32,16 --io f16 --set gate=softplus", &text), WKVC_OK);
  const auto read = nlohmann::json::parse(text);
  EXPECT_EQ(read["name"], "gated_delta_net");
  EXPECT_EQ(read["key_dim"], 32);
  EXPECT_EQ(read["value_dim"], 16);
  const nlohmann::json v = {{"name", "v"}, {"of", "token"}, {"dim", "V"}, {"dtype", "f16"}};
  const nlohmann::json bias = {{"name", "dt_bias"}, {"of", "head"}, {"dim", "1"}, {"dtype", "f32"}};
  EXPECT_EQ(read["inputs"][2], v);
  EXPECT_EQ(read["inputs"].back(), bias);
  EXPECT_EQ(read["outputs"].size(), 1U);
  EXPECT_EQ(read["options"][0]["name"], "scale");
  ASSERT_EQ(wkvc_emit("gated_delta_net", "--set gate=softplus", "rec", &text), WKVC_OK);
  const std::string source = text;
  ASSERT_EQ(wkvc_signature(source.c_str(), nullptr, &text), WKVC_OK);
  EXPECT_TRUE(nlohmann::json::parse(text)["options"].empty());
  EXPECT_EQ(wkvc_signature("gated_delta_net", "--set gat=softplus", &text), WKVC_USER_ERROR);
  EXPECT_NE(std::string(wkvc_message()).find("did you mean 'gate'?"), std::string::npos) << wkvc_message();
  EXPECT_EQ(wkvc_signature(nullptr, nullptr, &text), WKVC_USER_ERROR);
  EXPECT_EQ(wkvc_names(nullptr), WKVC_USER_ERROR);
}

TEST(CApi, TellsWhichGpusRunKernels) {
  EXPECT_EQ(wkvc_runs_on(9, 0), 1);
  for (const auto& [major, minor] : {std::pair{8, 0}, {8, 9}, {10, 0}, {12, 0}, {9, 1}})
    EXPECT_EQ(wkvc_runs_on(major, minor), 0);
}

TEST(CApi, TellsItsVersion) {
  EXPECT_THAT(std::string(wkvc_version()), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
