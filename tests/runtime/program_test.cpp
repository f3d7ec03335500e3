#include "runtime/program.h"

#include <cmath>

#include "runtime/launch/internals.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_kernel.h"
#include "tests/runtime/tiny_program.h"
#include "tests/runtime/tiny_training.h"

namespace wkvc {
namespace {

std::string edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

std::vector<std::string> names_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> names;
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return names;
}

using Names = std::vector<std::string>;

class Programs : public ::testing::Test {
 protected:
  Program program = Program::load(tiny_program(), Target::host);

  // Everything a launch takes.
  static NamedTensors views(TinyTraining& training, std::map<std::string, HostTensor>& internals) {
    NamedTensors tensors;
    for (auto& [name, tensor] : training.tensors) tensors[name] = tensor.view();
    for (auto& [name, tensor] : internals) {
      tensor.poison();
      tensors[name] = tensor.view();
    }
    return tensors;
  }
};

TEST_F(Programs, HaveTheTensorsOfAllKernels) {
  EXPECT_EQ(program.kernels().size(), 3U);
  EXPECT_EQ(names_of(program.manifest().tensors),
            (Names{"x", "u", "initial_state", "o", "final_state", "saved_states", "do", "dfinal_state", "dx",
                   "du_parts", "dinitial_state", "du"}));
  EXPECT_EQ(names_of(program.internals()), (Names{"saved_states", "du_parts"}));
  EXPECT_TRUE(program.has(Direction::forward));
  EXPECT_TRUE(program.has(Direction::backward));
}

TEST_F(Programs, RunForwardsAndBackwards) {
  for (const LaunchSize& size : {LaunchSize{2, 11, 3}, {1, 1, 1}, {3, 4, 2}}) {
    TinyTraining training(size);
    auto internals = host_internals(program, size);
    program.launch(views(training, internals), size);
    for (std::size_t h = 0; h < static_cast<std::size_t>(size.heads); ++h) {
      for (std::size_t k = 0; k < 8; ++k) {
        double du = 0;
        for (std::size_t b = 0; b < static_cast<std::size_t>(size.batches); ++b) {
          const TinyTraining::Column expected = training.expected(b, h, k);
          for (std::size_t t = 0; t < expected.o.size(); ++t) {
            EXPECT_NEAR(training.at("o", b, h, t, k), expected.o[t], 1e-4);
            EXPECT_NEAR(training.at("dx", b, h, t, k), expected.dx[t], 1e-4);
          }
          EXPECT_NEAR(training.at("final_state", b, h, 0, k), expected.final_state, 1e-4);
          EXPECT_NEAR(training.at("dinitial_state", b, h, 0, k), expected.dinitial_state, 1e-4);
          du += expected.du;
        }
        EXPECT_NEAR(training.at("du", 0, h, 0, k), du, 1e-3);
      }
    }
  }
}

TEST_F(Programs, TakeTensorsInOrder) {
  const LaunchSize size{2, 5, 2};
  TinyTraining by_name(size), in_order(size);
  auto internals = host_internals(program, size);
  program.launch(views(by_name, internals), size);
  std::vector<Tensor> tensors = program.in_order(views(in_order, internals));
  program.launch(tensors, size);
  for (const auto& [name, tensor] : by_name.tensors) {
    for (std::size_t i = 0; i < tensor.size(); ++i) EXPECT_EQ(in_order.tensors.at(name).get(i), tensor.get(i)) << name;
  }
  tensors.pop_back();
  expect_error([&] { program.launch(tensors, size); }, {"11 tensors were given, expected 12: x, u, initial_state"});
}

TEST_F(Programs, SayWhatTheyKeep) {
  const LaunchSize size{2, 11, 3};  // 6 chunks, 3 states
  EXPECT_EQ(shape_of(program.internals()[0], program.manifest(), size), (std::vector<std::int64_t>{2, 3, 3, 8, 8}));
  EXPECT_EQ(internal_bytes(program, size), (2 * 3 * 3 * 64 + 2 * 3 * 8) * 4);
  EXPECT_EQ(internal_bytes(program, {2, 8, 3}), (2 * 3 * 2 * 64 + 2 * 3 * 8) * 4);
  EXPECT_EQ(internal_bytes(program, {2, 0, 3}), 2 * 3 * 8 * 4);
  expect_error([&] { internal_bytes(program, {1 << 30, std::int64_t{1} << 40, 1 << 30}); }, {"63 bits"});
}

TEST_F(Programs, OnePassAlone) {
  const LaunchSize size{2, 5, 2};
  const Program forward = program.only(Direction::forward), backward = program.only(Direction::backward);
  EXPECT_EQ(names_of(forward.internals()), Names{"saved_states"});
  EXPECT_EQ(names_of(backward.internals()), Names{"du_parts"});
  TinyTraining all(size), alone(size);
  auto internals = host_internals(program, size);
  program.launch(views(all, internals), size);
  const NamedTensors tensors = views(alone, internals);
  for (const Program& part : {forward, backward}) {
    NamedTensors own;
    for (const TensorSpec& spec : part.manifest().tensors) own[spec.name] = tensors.at(spec.name);
    part.launch(own, size);
  }
  for (const auto& [name, tensor] : all.tensors) {
    for (std::size_t i = 0; i < tensor.size(); ++i) EXPECT_EQ(alone.tensors.at(name).get(i), tensor.get(i)) << name;
  }
  expect_error([&] { Program::load(tiny_kernel(), Target::host).only(Direction::backward); },
               {"no kernel of the backward pass", "--pass both"});
}

TEST_F(Programs, StatesAndTheirGradientsMayBeMissing) {
  const LaunchSize size{1, 6, 1};
  TinyTraining training(size), zeros(size);
  for (const char* name : {"initial_state", "dfinal_state"}) {
    zeros.tensors.at(name) = HostTensor(DType::f32, {1, 1, 8, 8});
  }
  auto internals = host_internals(program, size);
  program.launch(views(zeros, internals), size);
  NamedTensors tensors = views(training, internals);
  tensors.erase("initial_state");
  tensors["dfinal_state"] = Tensor{};
  tensors.erase("final_state");
  tensors["dinitial_state"] = Tensor{};
  program.launch(tensors, size);
  for (const char* name : {"o", "dx", "du"}) {
    for (std::size_t i = 0; i < training.tensors.at(name).size(); ++i) {
      EXPECT_EQ(training.tensors.at(name).get(i), zeros.tensors.at(name).get(i)) << name;
    }
  }
}

TEST_F(Programs, WithoutTokensGradientsOfStatesAreCarriedOver) {
  const LaunchSize size{2, 0, 3};
  TinyTraining training(size);
  auto internals = host_internals(program, size);
  program.launch(views(training, internals), size);
  const auto expect_same = [&](const char* name, const char* other) {
    for (std::size_t i = 0; i < training.tensors.at(name).size(); ++i) {
      EXPECT_EQ(training.tensors.at(name).get(i), training.tensors.at(other).get(i)) << name;
    }
  };
  expect_same("final_state", "initial_state");
  expect_same("dinitial_state", "dfinal_state");
  for (std::size_t i = 0; i < training.tensors.at("du").size(); ++i) EXPECT_EQ(training.tensors.at("du").get(i), 0);
}

TEST_F(Programs, WithoutBatchesGradientsOfParametersAreZero) {
  const LaunchSize size{0, 5, 2};
  TinyTraining training(size);
  auto internals = host_internals(program, size);
  program.launch(views(training, internals), size);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(training.tensors.at("du").get(i), 0);
}

TEST_F(Programs, MistakesAreRefusedBeforeAnythingRuns) {
  const LaunchSize size{2, 5, 2};
  const auto refused = [&](auto change, const std::vector<std::string>& parts) {
    TinyTraining training(size);
    auto internals = host_internals(program, size);
    NamedTensors tensors = views(training, internals);
    change(tensors);
    expect_error([&] { program.launch(tensors, size); }, parts);
    EXPECT_TRUE(std::isnan(training.tensors.at("o").get(0)));
  };
  refused([](NamedTensors& t) { t.erase("saved_states"); },
          {"\"saved_states\" is missing", "saved_states, f32 [B, H, N, V, K]"});
  refused([](NamedTensors& t) { t.erase("do"); }, {"\"do\" is missing", "output_gradient"});
  refused([](NamedTensors& t) { t["dk"] = t["dx"]; }, {"\"dk\" was given", "x, u,"});
  refused([](NamedTensors& t) { t["dx"] = Tensor{}; }, {"\"dx\""});
  refused([](NamedTensors& t) { t["dx"].data = t["x"].data; }, {"\"dx\" and \"x\"", "same address"});
  refused([](NamedTensors& t) { t["dx"].data = t["o"].data; }, {"\"o\" and \"dx\"", "same address"});
  refused([](NamedTensors& t) { t["du_parts"].data = t["u"].data; }, {"\"du_parts\" and \"u\"", "same address"});
  refused([](NamedTensors& t) { t["dx"].data = static_cast<float*>(t["initial_state"].data) + 8; },
          {"\"dx\" and \"initial_state\" overlap"});
  refused([](NamedTensors& t) { t["du_parts"].data = static_cast<float*>(t["x"].data) + 4; },
          {"\"du_parts\" and \"x\" overlap"});
  refused([](NamedTensors& t) { t["du_parts"].data = static_cast<float*>(t["du_parts"].data) + 1; },
          {"\"du_parts\"", "not a multiple of 16 bytes"});
  refused([](NamedTensors& t) { t["do"].data = static_cast<char*>(t["do"].data) + 1; }, {"\"do\"", "not aligned"});
  refused([](NamedTensors& t) { t["do"].strides[3] = 2; }, {"\"do\"", "contiguous"});
  refused([](NamedTensors& t) { t["dinitial_state"].data = t["dfinal_state"].data; }, {"same address"});
  refused([](NamedTensors& t) { t["saved_states"].strides[2] = 72; },
          {"\"saved_states\" has strides", "has to be contiguous"});
  refused([](NamedTensors& t) { t["saved_states"].shape[2] = 1; }, {"\"saved_states\" has shape", "[B, H, N, V, K]"});
  refused([](NamedTensors& t) { t["saved_states"].dtype = DType::bf16; }, {"\"saved_states\" is bf16"});
}

// The second kernel of this text reads the initial state after the first has written the final one.
std::string reading_the_state_later() {
  const std::string without = edited(tiny_program(), R"("name":"dfinal_state")", R"("name":"x1")");
  return edited(edited(without, R"("role":"final_state_gradient")", R"("role":"initial_state")"), R"("name":"x1")",
                R"("name":"initial_state")");
}

TEST_F(Programs, StatesInPlaceUnlessReadLater) {
  const LaunchSize size{1, 5, 1};
  TinyTraining training(size);
  auto internals = host_internals(program, size);
  NamedTensors tensors = views(training, internals);
  tensors["final_state"].data = tensors["initial_state"].data;
  EXPECT_NO_THROW(program.launch(tensors, size));
  const Program later = Program::load(reading_the_state_later(), Target::host);
  tensors.erase("dfinal_state");
  expect_error([&] { later.launch(tensors, size); }, {"in place", "\"tiny_backward\" reads the initial state later"});
}

// Unless it only does what the first has refused, whose states are not written yet.
TEST_F(Programs, StatesInPlaceForWhatWasRefused) {
  const LaunchSize size{1, 5, 1};
  TinyTraining training(size);
  auto internals = host_internals(program, size);
  NamedTensors tensors = views(training, internals);
  tensors["final_state"].data = tensors["initial_state"].data;
  tensors.erase("dfinal_state");
  const Program again = Program::load(
      edited(reading_the_state_later(), R"("kernel":"tiny_backward",)", R"("kernel":"tiny_backward","refused":1,)"),
      Target::host);
  EXPECT_NO_THROW(again.launch(tensors, size));
}

TEST_F(Programs, KernelsThatDisagreeAreRefused) {
  const auto refused = [](const std::string& text, const std::vector<std::string>& parts) {
    expect_error([&] { Program::load(text, Target::host); }, parts);
  };
  const std::string forward = tiny_forward_line(), backward = tiny_backward_lines();
  refused(forward + edited(backward, R"("op":"tiny")", R"("op":"huge")"), {"different operators: tiny and huge"});
  refused(forward + edited(backward, "sm_90a", "sm_100a"), {"different architectures"});
  refused(forward + edited(backward, R"("key_dim":8)", R"("key_dim":16)"), {"different key_dim: 8 and 16"});
  refused(forward + edited(backward, R"("saved_every":2)", R"("saved_every":3)"), {"in tokens: 4 and 6"});
  refused(forward + edited(backward, R"("saved_states","dtype":"f32")", R"("saved_states","dtype":"f16")"),
          {"\"saved_states\" as f32", "and as f16"});
  refused(forward + backward + program_line("last", "", tensor_json("du", "parameter", R"("H","K")")),
          {"\"du\" as parameter_gradient and then as parameter"});
}

// Chunks may differ between passes where as many tokens lie between saved states.
TEST_F(Programs, PassesMayHaveChunksOfTheirOwn) {
  const std::string text =
      edited(tiny_program(), R"("chunk":2,"warps":1,"shared_bytes":0,"pass":"backward","saved_every":2)",
             R"("chunk":1,"warps":1,"shared_bytes":0,"pass":"backward","saved_every":4)");
  const Program own = Program::load(text, Target::host);
  EXPECT_EQ(internal_bytes(own, {2, 11, 3}), internal_bytes(program, {2, 11, 3}));
}

TEST_F(Programs, AResultMayBeAnInputLater) {
  const std::string text = program_line("first", "", tensor_json("o", "output", R"("B","T","H","K")")) +
                           program_line("second", "", tensor_json("o", "input", R"("B","T","H","K")"));
  const std::string code =
      "extern \"C\" int first(const void*, void*) { return 0; }\n"
      "extern \"C\" int second(const void*, void*) { return 0; }\n";
  EXPECT_EQ(Program::load(text + code, Target::host).manifest().tensors.front().role, Role::output);
}

// As emitted kernels are written; `count` says how often each head had a block.
TEST_F(Programs, AKernelMayHaveOneBlockAHead) {
  const std::string line = program_line("each", R"(,"grid":"H")", tensor_json("count", "output", R"("B","T","H")"));
  const Program each = Program::load(line + R"(
#include "wkvc/tile.h"
WKVC_KERNEL(each, 1, 1, 1) {
  const wkvc::TensorArg& count = args.tensor[0];
  static_cast<float*>(count.data)[block.batch * count.batch + block.head * count.head] += 1.f;
}
)",
                                     Target::host);
  HostTensor count(DType::f32, {3, 1, 2});
  each.launch({{"count", count.view()}}, {3, 1, 2});
  const std::vector<double> expected{1, 1, 0, 0, 0, 0};
  for (std::size_t i = 0; i < count.size(); ++i) EXPECT_EQ(count.get(i), expected[i]) << i;
}

TEST_F(Programs, OfOneKernelIsThatKernel) {
  const Program one = Program::load(tiny_kernel(), Target::host);
  EXPECT_EQ(to_line(one.manifest()), tiny_manifest_line());
  EXPECT_TRUE(one.internals().empty());
  expect_error([] { Kernel::load(tiny_program(), Target::host); }, {"holds 3 kernels", "Program"});
}

}  // namespace
}  // namespace wkvc
