// The backward pass through the command: check, run and explain of plain kernels that are fed back as text.
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "runtime/tensor/safetensors.h"
#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

using Json = nlohmann::ordered_json;
using Arguments = std::vector<std::string>;

class Backward : public CommandTest {
 protected:
  // The naive forward kernel, which saves its states every 16 tokens, and the backward kernel, in one text.
  static std::string text() {
    std::string forward = edited(contents_of(naive_kernel), R"("dims":["B","H","V","K"]}]})",
                                 R"("dims":["B","H","V","K"]},{"name":"saved_states","role":"saved_states",)"
                                 R"("dtype":"f32","dims":["B","H","N","V","K"]}],"saved_every":1})");
    forward = edited(forward, "final_state, tensors", "final_state, saved_states, tensors");
    forward = edited(forward, "t < args.tokens; ++t) {",
                     "t < args.tokens; ++t) {\n"
                     "    for (int i = 0; i < V && t % 16 == 0; ++i)\n"
                     "      for (int j = 0; j < K; ++j) state_row(saved_states, t / 16 * V + i)[j] = S[i][j];\n");
    return forward + contents_of(source_directory / "cli" / "naive_rwkv7_backward.cu");
  }

  Outcome check(const std::string& kernels, const Arguments& more) {
    Arguments arguments{"check", "--source", file("training.cu", kernels), "--device", "cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return wkvc(arguments);
  }

  Json report(const Arguments& more) {
    Arguments arguments{"--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = check(text(), arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    return Json::parse(outcome.out);
  }

  static Arguments names_in(const Json& object) {
    Arguments names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    return names;
  }

  std::string changed_input(const std::function<void(TensorMap&)>& change) {
    TensorMap tensors = read_safetensors(activations).tensors;
    change(tensors);
    const std::string path = file("input.safetensors", "");
    write_safetensors(path, tensors);
    return path;
  }
};

const Arguments gradients{"dr", "dw", "dk", "da", "db", "dv", "dinitial_state"};

TEST_F(Backward, RandomInputs) {
  for (const char* shape : {"1,1,1", "2,33,3"}) {
    const Outcome outcome = check(text(), {"--shape", shape, "--seed", "7", "--pass", "backward"});
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    for (const std::string& name : gradients) EXPECT_NE(outcome.out.find(name), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("pass backward"), std::string::npos);
  }
  EXPECT_FALSE(wrote_something());
}

TEST_F(Backward, PassesShowTheirResults) {
  EXPECT_EQ(names_in(report({"--pass", "backward"})["errors"]), gradients);
  EXPECT_EQ(names_in(report({"--pass", "forward"})["errors"]), (Arguments{"o", "final_state"}));
  EXPECT_EQ(report({"--pass", "backward"})["pass"], "backward");
  EXPECT_FALSE(report({"--pass", "forward"}).contains("pass"));
  const Json both = report({"--pass", "both"});
  EXPECT_EQ(both["errors"].size(), 2 + gradients.size());
  EXPECT_EQ(report({}), both);  // all that the text holds
  EXPECT_LT(both["errors"]["dw"].get<double>(), 2e-5);
}

TEST_F(Backward, RecordedGradients) {
  const Json errors = report({"--pass", "both", "--input", activations})["errors"];
  for (const char* name : {"o", "final_state", "dr", "dw", "dk", "da", "db", "dv"}) {
    ASSERT_TRUE(errors.contains(std::string(name) + " (file)")) << name;
    EXPECT_NEAR(errors[std::string(name) + " (file)"].get<double>(), errors[name].get<double>(), 1e-6) << name;
  }
  EXPECT_FALSE(errors.contains("dinitial_state (file)"));
}

TEST_F(Backward, AFileThatDisagreesFails) {
  const std::string other =
      changed_input([](TensorMap& tensors) { tensors.at("dk").set(100, tensors.at("dk").get(100) + 10); });
  const Outcome outcome = check(text(), {"--pass", "backward", "--input", other});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("dk (file)"), std::string::npos);
  const std::string shorter = changed_input([](TensorMap& tensors) { tensors["dk"] = HostTensor(DType::f32, {1, 9}); });
  EXPECT_EQ(check(text(), {"--input", shorter}).status, 2);
}

TEST_F(Backward, WrongKernelsFail) {
  const auto expect_failure = [&](const std::string& from, const std::string& to) {
    SCOPED_TRACE(from + " -> " + to);
    EXPECT_EQ(check(edited(text(), from, to), {"--shape", "2,33,2"}).status, 1);
  };
  expect_failure("at.row(dr, t)[j] +=", "at.row(dr, t)[j] = ");
  expect_failure("sigmoid * (1 - sigmoid)", "sigmoid");
  expect_failure("at.args.tensor[dfinal].data ?", "false ?");          // no gradient of the final state
  expect_failure("at.row(saved, t / 16 * V + i)[j]", "0.0f");          // no states
  expect_failure("i < V && t % 16 == 0", "i < V - 1 && t % 16 == 0");  // a row of them not saved
  expect_failure("at.row(dinitial, i)[j] = dS[i][j]", "at.row(dinitial, i)[j] = dS[j][i]");
}

TEST_F(Backward, RunWritesGradients) {
  const std::string source = file("training.cu", text());
  const auto run = [&](const char* pass) {
    const Outcome outcome = wkvc({"run", "--source", source, "--device", "cpu", "--pass", pass, "--input", activations,
                                  "--output", "out.safetensors"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return read_safetensors(directory() / "out.safetensors").tensors;
  };
  const TensorMap both = run("both");
  EXPECT_EQ(both.size(), 2 + gradients.size());
  EXPECT_EQ(run("backward").size(), gradients.size());
  EXPECT_EQ(run("forward").size(), 2U);
  const TensorMap expected = read_safetensors(activations).tensors;
  for (std::size_t i = 0; i < expected.at("dv").size(); ++i) {
    const double want = expected.at("dv").get(i);
    ASSERT_NEAR(both.at("dv").get(i), want, 1e-4 * (1 + std::abs(want))) << i;
  }
}

TEST_F(Backward, Mistakes) {
  const std::string both = file("both.cu", text());
  const std::string alone = file("alone.cu", contents_of(source_directory / "cli" / "naive_rwkv7_backward.cu"));
  const std::string without = changed_input([](TensorMap& tensors) { tensors.erase("do"); });
  const auto check_mistake = [&](Arguments more, const std::string& part) {
    Arguments arguments{"check", "--device", "cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_mistake(arguments, part);
  };
  check_mistake({"--source", both, "--input", without}, "no tensor 'do', the gradient of 'o'");
  check_mistake({"--source", alone, "--pass", "backward"}, "the backward pass alone");
  check_mistake({"--source", naive_kernel, "--pass", "backward"}, "no backward pass");
  check_mistake({"--source", naive_kernel, "--grad", "r"}, "--pass backward or --pass both");
  check_mistake({"--source", both, "--grad", "x"}, "'rwkv7' has no input 'x'");  // the text says the pass
  check_mistake({"--source", both, "--pass", "both", "--saved", "f32"}, "settled --saved");
  check_mistake({"--source", both, "--pass", "both", "--grad", "x"}, "'rwkv7' has no input 'x'; it has r, w, k");
  expect_mistake({"explain", "--source", both, "--pass", "both", "--grad", "r"}, "settled --grad");
  check_mistake({"rwkv7", "--pass", "sideways"}, "forward or backward or both");
  check_mistake({"rwkv7", "--save-every", "64"}, "--save-every is an option of the backward pass");
  check_mistake({"rwkv7", "--saved", "bf16"}, "--saved is an option of the backward pass");
  check_mistake({"rwkv7", "--pass", "both", "--saved", "f64"}, "f16 or bf16 or f32");
  check_mistake({"rwkv7", "--pass", "both", "--save-every", "63"}, "--save-every");
  check_mistake({"rwkv7", "--pass", "both", "--save-every", "48", "--chunk", "32"}, "not a multiple of --chunk 32");
  check_mistake({"rwkv7", "--pass", "both", "--grad", "r,,w"}, "--grad r,,w");
  check_mistake({"rwkv7", "--pass", "both", "--grad", "r,r"}, "'r' is named twice");
}

// A text with some gradients only, which the command has to be told.
TEST_F(Backward, SomeGradients) {
  const std::string some =
      file("some.cu", wkvc({"emit", "rwkv7", "--pass", "both", "--grad", "r,k", "--stage", "cuda"}).out);
  const Arguments check{"check", "--source", some, "--device", "cpu", "--shape", "1,16,1", "--json", "--pass", "both"};
  const auto outcome_with = [&](const Arguments& more) {
    Arguments arguments = check;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return wkvc(arguments);
  };
  const Outcome all = outcome_with({});
  EXPECT_EQ(all.status, 1) << all.err;
  EXPECT_EQ(Json::parse(all.out)["missing"], (Arguments{"dw", "da", "db", "dv"}));
  const Outcome told = outcome_with({"--grad", "r,k"});
  EXPECT_EQ(told.status, 0) << told.out << told.err;
  EXPECT_EQ(Json::parse(outcome_with({"--grad", "r,k,v"}).out)["missing"], Arguments{"dv"});
}

// What a text has settled is not for an option to change.
TEST_F(Backward, TextsHaveTheirGradients) {
  expect_mistake({"check", "--source", file("both.cu", text()), "--device", "cpu", "--grad", "r", "--pass", "both"},
                 "both.cu gives dw, dk, da, db, dv, too");
  const auto emitted = [&](const char* name, Arguments more) {
    Arguments arguments{"emit", "rwkv7", "--stage", "chunk", "--pass", "both"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return file(name, wkvc(arguments).out);
  };
  const std::string both = emitted("both.mlir", {"--scales", "guarded"}),
                    cut = emitted("cut.mlir", {"--segments", "2"});
  expect_mistake({"check", "--source", both, "--device", "cpu", "--grad", "r"}, "gives dw, dk, da, db, dv, too");
  const auto expect_settled = [&](const std::string& source, const Arguments& option) {
    expect_mistake({"emit", "--source", source, "--stage", "cuda", "-o", "k.cu", option[0], option[1]},
                   "the text has settled " + option[0]);
  };
  expect_settled(both, {"--grad", "r"});
  expect_settled(both, {"--saved", "f16"});
  expect_settled(both, {"--save-every", "128"});
  expect_settled(both, {"--scales", "always"});
  expect_settled(cut, {"--segments", "4"});
  expect_mistake({"emit", "--source", both, "--stage", "cuda", "-o", "k.cu", "--pass", "forward"}, "gradients, too");
}

TEST_F(Backward, Explain) {
  const Outcome outcome = wkvc({"explain", "--source", file("both.cu", text()), "--json", "--shape", "1,4096,64"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["saved_states"]["every_tokens"], 16);
  EXPECT_EQ(report["saved_states"]["dtype"], "f32");
  EXPECT_EQ(report["saved_states"]["bytes_per_token_and_head"], 1024);
}

// An inverse of 16 tokens by 16, in f32.
TEST_F(Backward, ExplainSaysWhatIsKept) {
  const Outcome outcome = wkvc({"explain", "rwkv7", "--pass", "both", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json kept = Json::parse(outcome.out)["kept"];
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0]["tensor"], "saved_M");
  EXPECT_EQ(kept[0]["bytes_per_token_and_head"], 64);
}

}  // namespace
}  // namespace wkvc::test
