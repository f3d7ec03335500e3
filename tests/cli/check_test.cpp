// wkvc check and run: what passes, what fails, and what they print. The kernel is a plain one, fed back as text.
#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/tensor/safetensors.h"
#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

class Check : public CommandTest {
 protected:
  Outcome check(const std::string& source, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"check", "--source", source, "--device", "cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return wkvc(arguments);
  }

  std::string changed_activations(const std::function<void(TensorMap&)>& change) {
    TensorMap tensors = read_safetensors(activations).tensors;
    change(tensors);
    const std::string path = file("input.safetensors", "");
    write_safetensors(path, tensors);
    return path;
  }

  static Names names_in(const Json& object) {
    Names names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    return names;
  }

  // The kernel with `from` replaced by `to` fails the check.
  void expect_failure(const std::string& from, const std::string& to) {
    SCOPED_TRACE(from + " -> " + to);
    const Outcome outcome =
        check(file("mutant.cu", edited(contents_of(naive_kernel), from, to)), {"--shape", "2,33,3"});
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.out.find("FAILED"), std::string::npos) << outcome.out;
  }
};

TEST_F(Check, RandomInputs) {
  for (const char* shape : {"1,1,1", "2,33,3", "1,100,2"}) {
    const Outcome outcome = check(naive_kernel, {"--shape", shape, "--seed", "7"});
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("passed"), std::string::npos);
  }
  EXPECT_FALSE(wrote_something());
}

TEST_F(Check, Json) {
  const Outcome outcome = check(naive_kernel, {"--input", activations, "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(names_in(report),
            (Names{"op", "device", "config", "shape", "errors", "bounds", "worst", "missing", "refused", "passed"}));
  EXPECT_EQ(report["op"], "rwkv7");
  EXPECT_EQ(report["device"], "cpu");
  EXPECT_EQ(report["passed"], true);
  EXPECT_EQ(report["shape"], "1,1000,1");
  EXPECT_EQ(report["missing"], Json::array());
  EXPECT_EQ(report["errors"].size(), 4);
  for (const char* name : {"o", "final_state"}) {
    const double error = report["errors"][name];
    EXPECT_NEAR(error, report["errors"][std::string(name) + " (file)"].get<double>(), 1e-6) << name;
  }
  EXPECT_EQ(report["bounds"].size(), 4);
  EXPECT_EQ(report["bounds"]["o"], 1.8e-3);  // of bf16, for many elements
  EXPECT_EQ(report["bounds"]["final_state"], 1e-5);
  EXPECT_EQ(report["worst"].size(), 4);
  EXPECT_EQ(names_in(report["worst"]["o"]), (Names{"batch", "token", "head", "error", "bound"}));
  EXPECT_EQ(names_in(report["worst"]["final_state"]), (Names{"batch", "head", "error", "bound"}));
  EXPECT_EQ(report["worst"]["o"]["bound"], 4 * 1.8e-3);
  EXPECT_GT(report["worst"]["o"]["error"], report["errors"]["o"]);
  EXPECT_NEAR(report["errors"]["o"].get<double>(), 1.66e-3, 2e-5);  // rounding to bf16 alone
  EXPECT_LT(report["errors"]["final_state"].get<double>(), 1e-5);
}

TEST_F(Check, SeedsDecide) {
  const auto errors = [&](const char* seed) { return check(naive_kernel, {"--seed", seed, "--json"}).out; };
  EXPECT_EQ(errors("1"), errors("1"));
  EXPECT_NE(errors("1"), errors("2"));
}

TEST_F(Check, WrongKernelsFail) {
  expect_failure("= narrow(sum)", "= 0");                                    // zeros
  expect_failure("at(o, t)[i] = narrow(sum);", "");                          // nothing written
  expect_failure("at(o, t)[i] = narrow(sum)", "at(o, 0)[i] = narrow(sum)");  // one row only
  expect_failure("one_head(args, batch, head);", "one_head(args, batch, 0);");
  expect_failure("t < args.tokens", "t + 1 < args.tokens");        // dropped tail
  expect_failure("args.tensor[initial_state].data ?", "false ?");  // stale state
  expect_failure("= S[i][j];", "= S[j][i];");                      // transposed final state
  expect_failure("return 0;", "return 1;");                        // fails as it runs
  expect_failure("narrow(float x) {", "narrow(float x) { x *= 1.01f;");
}

TEST_F(Check, FailureInJson) {
  const std::string mutant = file("mutant.cu", edited(contents_of(naive_kernel), "at(o, t)[i] = narrow(sum);", ""));
  const Outcome outcome = check(mutant, {"--json"});
  EXPECT_EQ(outcome.status, 1);
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["passed"], false);
  EXPECT_TRUE(report["errors"]["o"].is_null());  // not finite
}

TEST_F(Check, FileThatDisagreesFails) {
  const Outcome outcome = check(naive_kernel, {"--input", changed_activations([](TensorMap& tensors) {
                                                 tensors.at("o").set(5, tensors.at("o").get(5) + 1e6);
                                               })});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("o (file)"), std::string::npos) << outcome.out;
}

TEST_F(Check, MissingResultsFail) {
  std::string text = wkvc({"emit", "rwkv7", "--pass", "both", "--stage", "chunk"}).out;
  for (const char* output : {"chunk.output \"o\"", "chunk.output \"dr\""}) {
    const std::size_t at = text.find(output);
    ASSERT_NE(at, std::string::npos) << output;
    text.erase(at, text.find('\n', at) - at);
  }
  const std::string source = file("less.mlir", text);
  const Outcome outcome = check(source, {"--shape", "1,16,1", "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["missing"], (Names{"o", "dr"}));
  EXPECT_EQ(report["passed"], false);
  const Outcome readable = check(source, {"--shape", "1,16,1"});
  EXPECT_EQ(readable.status, 1);
  EXPECT_NE(readable.out.find("dr               MISSING"), std::string::npos) << readable.out;
}

// With few elements, rounding alone may cost more than it does on average.
TEST_F(Check, FewElements) {
  for (const char* seed : {"1", "2", "3", "4"}) {
    const Outcome outcome = check(naive_kernel, {"--shape", "1,1,1", "--seed", seed, "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.out;
  }
}

TEST_F(Check, NoTokens) {
  for (const char* shape : {"1,0,2", "0,5,2", "2,3,0"}) {
    const Outcome outcome = wkvc({"check", "rwkv7", "--device", "cpu", "--pass", "both", "--shape", shape});
    EXPECT_EQ(outcome.status, 0) << shape << outcome.out << outcome.err;
  }
  TensorMap tensors;
  for (const char* name : {"r", "w", "k", "a", "b", "v"}) tensors[name] = HostTensor(DType::bf16, {1, 0, 1, 64});
  const std::string input = file("empty.safetensors", "");
  write_safetensors(input, tensors);
  EXPECT_EQ(check(naive_kernel, {"--input", input}).status, 0);
  expect_mistake({"check", "rwkv7", "--shape", "1,-1,2"}, "'-1' is not a size from 0 to 2^63 - 1");
}

// A token that is off hides in the norm behind one that is a thousand times as large.
TEST_F(Check, NamesTheTokenThatIsOff) {
  const std::string outlier = changed_activations([](TensorMap& tensors) {
    HostTensor& r = tensors.at("r");
    for (std::size_t i = std::size_t{20} * 64; i < std::size_t{21} * 64; ++i) r.set(i, 1024 * r.get(i));
    tensors.erase("o");
  });
  EXPECT_EQ(check(naive_kernel, {"--input", outlier}).status, 0);
  const std::string mutant =
      file("mutant.cu", edited(contents_of(naive_kernel), "narrow(sum);", "narrow(t == 17 ? 1.05f * sum : sum);"));
  const Outcome outcome = check(mutant, {"--input", outlier});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("within 1.8e-03; worst at batch 0, token 17, head 0: error 5."), std::string::npos)
      << outcome.out;
  const Json report = Json::parse(check(mutant, {"--input", outlier, "--json"}).out);
  EXPECT_EQ(report["passed"], false);
  EXPECT_EQ(report["worst"]["o"]["token"], 17);
}

TEST_F(Check, RunSaysWhatIsNotFinite) {
  const auto run = [&](const std::string& input) {
    return wkvc({"run", "--source", naive_kernel, "--device", "cpu", "--input", input, "--output", "out"});
  };
  const Outcome outcome = run(changed_activations([](TensorMap& tensors) {
    tensors.at("v").set(std::size_t{700} * 64 + 5, std::numeric_limits<double>::quiet_NaN());
  }));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find(
                "o                bf16 [1, 1000, 1, 64]: 300 of 64000 NOT FINITE, first at batch 0, token 700, head 0"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find(": 64 of 4096 NOT FINITE, first at batch 0, head 0"), std::string::npos) << outcome.out;
  EXPECT_EQ(run(activations).status, 0);
}

TEST_F(Check, UnusedTensorsAreNamed) {
  const auto run = [&](const std::string& input) {
    return wkvc({"run", "--source", naive_kernel, "--device", "cpu", "--input", input, "--output", "out"});
  };
  const Outcome misspelt = run(changed_activations(
      [](TensorMap& tensors) { tensors["initial_stat"] = HostTensor(DType::f32, {1, 1, 64, 64}); }));
  EXPECT_EQ(misspelt.status, 0);
  EXPECT_NE(misspelt.err.find("nothing uses 'initial_stat'"), std::string::npos) << misspelt.err;
  EXPECT_NE(misspelt.err.find("initial_state"), std::string::npos) << misspelt.err;
  EXPECT_EQ(std::ranges::count(misspelt.err, '\n'), 1) << misspelt.err;
  EXPECT_EQ(run(activations).err, "");  // which hold results and gradients, too
}

TEST_F(Check, RunWritesResults) {
  const Outcome outcome =
      wkvc({"run", "--source", naive_kernel, "--device", "cpu", "--input", activations, "--output", "out.safetensors"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  SafetensorsFile results = read_safetensors(directory() / "out.safetensors"), expected = read_safetensors(activations);
  ASSERT_EQ(results.tensors.size(), 2);
  EXPECT_EQ(results.at("o").dtype(), DType::bf16);
  for (const char* name : {"o", "final_state"}) {
    ASSERT_EQ(results.at(name).shape(), expected.at(name).shape());
    for (std::size_t i = 0; i < results.at(name).size(); ++i) {
      const double want = expected.at(name).get(i);
      ASSERT_NEAR(results.at(name).get(i), want, 4e-3 * std::abs(want) + 1e-4) << name << " " << i;
    }
  }
}

TEST_F(Check, EmittedTextsGoBackIn) {
  for (const char* stage : {"rec", "chunk", "warp", "cuda"}) {
    ASSERT_EQ(wkvc({"emit", "rwkv7", "--stage", stage, "-o", "stage"}).status, 0) << stage;
    const Outcome outcome = check((directory() / "stage").string(), {"--json"});
    EXPECT_EQ(outcome.status, 0) << stage << outcome.out << outcome.err;
    EXPECT_EQ(outcome.out, wkvc({"check", "rwkv7", "--device", "cpu", "--json"}).out) << stage;
  }
}

TEST_F(Check, Explain) {
  const Outcome outcome = wkvc({"explain", "rwkv7", "--json", "--shape", "1,4096,64"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  for (const char* key : {"op", "config", "sram", "contractions", "cubin", "compile", "floor"})
    EXPECT_TRUE(report.contains(key)) << key;
  // r, w, k, a, b, v and o in bf16, and two states in f32, each once.
  EXPECT_EQ(report["floor"]["bytes"], 7 * 4096 * 64 * 64 * 2 + 2 * 64 * 64 * 64 * 4);
  EXPECT_EQ(report["floor"]["bound_by"], "memory");
}

TEST_F(Check, ExplainShowsTheOptionsThatHold) {
  const Json report = Json::parse(wkvc({"explain", "rwkv7", "--set", "decay=log,lower_bound=-5", "--json"}).out);
  std::map<std::string, std::string> values;
  for (const Json& row : report["options"]) values.emplace(row["option"], row["value"]);
  EXPECT_EQ(values, (std::map<std::string, std::string>{
                        {"decay", "log"}, {"lower_bound", "-5"}, {"scale", "1"}, {"decay_dtype", "io"}}));
}

// A recurrence whose contractions take f32 operands, as nothing bounds the number that multiplies a key.
constexpr const char* kWithoutRange =
    R"(rec.recurrence @open attributes {key_dim = 32, value_dim = 32, compute = "f16", sram_budget = 232448} {
  %k = rec.input "k" dim K : tensor<32xbf16>
  %v = rec.input "v" dim V : tensor<32xbf16>
  %beta = rec.input "beta" dim 1 : tensor<1xf32>
  %S = rec.state "S" : tensor<32x32xf32>
  %v_f32 = rec.cast %v : tensor<32xbf16> to tensor<32xf32>
  %read = rec.dot %S, %k : tensor<32x32xf32>, tensor<32xbf16> -> tensor<32xf32>
  %error = rec.sub %v_f32, %read : tensor<32xf32>
  %change = rec.scale %beta, %error : tensor<32xf32>
  %write = rec.outer %change, %k : tensor<32xf32>, tensor<32xbf16> -> tensor<32x32xf32>
  %S_next = rec.add %S, %write : tensor<32x32xf32>
  rec.update %S, %S_next : tensor<32x32xf32>
  %o = rec.dot %S_next, %k : tensor<32x32xf32>, tensor<32xbf16> -> tensor<32xf32>
  rec.output "o" %o dim V : tensor<32xf32> as bf16
}
)";

TEST_F(Check, SaysWhichRangeIsMissing) {
  const std::string open = file("open.mlir", kWithoutRange);
  std::string declared_text = kWithoutRange;
  declared_text.replace(declared_text.find("dim 1 :"), 5, "dim 1 in [0.0, 1.0]");
  const std::string declared = file("declared.mlir", declared_text);
  const std::string message = "declare .in(lo, hi) on the input beta";
  const Outcome explained = wkvc({"explain", "--source", open, "--json"});
  ASSERT_EQ(explained.status, 0) << explained.err;
  const Json missing = Json::parse(explained.out)["missing_range"];
  EXPECT_EQ(missing["inputs"][0]["input"], "beta");
  EXPECT_EQ(missing["inputs"][0]["range"], "-inf to inf");
  EXPECT_FALSE(missing["without_bound"].empty());
  EXPECT_NE(wkvc({"explain", "--source", open}).out.find(message), std::string::npos);
  const Outcome checked = wkvc({"check", "--source", open, "--device", "cpu", "--json"});
  EXPECT_NE(checked.err.find(message), std::string::npos) << checked.err;
  EXPECT_EQ(std::ranges::count(checked.err, '\n'), 1) << checked.err;
  EXPECT_TRUE(Json::accept(checked.out)) << checked.out;
  EXPECT_FALSE(Json::parse(wkvc({"explain", "--source", declared, "--json"}).out).contains("missing_range"));
  EXPECT_EQ(wkvc({"check", "--source", declared, "--device", "cpu"}).err, "");
}

// w of rwkv7 is at most 1 in all of the file.
TEST_F(Check, SaysWhatLiesBeyondADeclaredRange) {
  const std::string rec = wkvc({"emit", "rwkv7", "--stage", "rec"}).out;
  const std::string declared = file("declared.mlir", edited(rec, R"("w" dim K)", R"("w" dim K in [-40.0, 20.0])"));
  const std::string inside = changed_activations([](TensorMap&) {});
  EXPECT_EQ(check(declared, {"--input", inside}).err, "");
  const std::string beyond = changed_activations([](TensorMap& tensors) {
    tensors.at("w").set(7 * 64 + 5, 32);
    tensors.at("w").set(9 * 64, -41);
  });
  const std::string expected =
      "2 of 64000 elements of 'w' lie beyond its declared range, -40 to 20, the first at batch 0, token 7, head 0: 32; "
      "kernels may be wrong there: keep 'w' within the range, or declare a wider one";
  const Outcome checked = check(declared, {"--input", beyond});
  EXPECT_NE(checked.err.find(expected), std::string::npos) << checked.err;
  const Outcome ran =
      wkvc({"run", "--source", declared, "--device", "cpu", "--input", beyond, "--output", "out.safetensors"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.err.find(expected), std::string::npos) << ran.err;
  EXPECT_EQ(check(naive_kernel, {"--input", beyond}).err, "");
}

// Numbers that f16 does not hold without a scale, and ordinary ones.
TEST_F(Check, SaysWhatGuardsRefuse) {
  const std::string large = changed_activations([](TensorMap& tensors) {
    HostTensor& v = tensors.at("v");
    for (std::size_t i = 0; i < v.size(); ++i) v.set(i, v.get(i) * 0x1p20);
  });
  const auto checked = [&](const std::string& input, const char* more) {
    return wkvc({"check", "rwkv7", "--device", "cpu", "--scales", "guarded", "--input", input, more});
  };
  const Json refused = Json::parse(checked(large, "--json").out)["refused"]["forward_refused"];
  EXPECT_GT(refused["blocks"], 0);
  EXPECT_EQ(refused["refused"], refused["blocks"]);
  EXPECT_NE(checked(large, "--mma=f16").out.find("had numbers that do not fit f16 and ran again with scales"),
            std::string::npos);
  EXPECT_EQ(Json::parse(checked(activations, "--json").out)["refused"]["forward_refused"]["refused"], 0);
  EXPECT_EQ(checked(activations, "--mma=f16").out.find("ran again"), std::string::npos);
}

// Summaries of segments come before the kernel that has the states.
TEST_F(Check, SaysHowStatesAreStored) {
  const Outcome outcome =
      wkvc({"check", "rwkv7", "--device", "cpu", "--segments", "3", "--state", "f16", "--state-layout", "kv"});
  EXPECT_NE(outcome.out.find("state f16 kv, shape"), std::string::npos) << outcome.out;
}

TEST_F(Check, List) {
  const Outcome outcome = wkvc({"list"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* op : {"rwkv6", "rwkv7", "rwkv7_logw"}) EXPECT_NE(outcome.out.find(op), std::string::npos);
}

// An initial state may come with the file: two halves, one after the other, are the whole.
TEST_F(Check, RunContinuesFromAState) {
  const auto half = [&](std::int64_t first, TensorMap more) {
    SafetensorsFile whole = read_safetensors(activations);
    for (const char* name : {"r", "w", "k", "v", "a", "b"}) {
      HostTensor part(DType::bf16, {1, 500, 1, 64});
      for (std::size_t i = 0; i < part.size(); ++i)
        part.set(i, whole.at(name).get(i + static_cast<std::size_t>(first) * 64));
      more[name] = part;
    }
    const std::string path = file("half.safetensors", "");
    write_safetensors(path, more);
    EXPECT_EQ(wkvc({"run", "--source", naive_kernel, "--device", "cpu", "--input", path, "--output", "out"}).status, 0);
    return read_safetensors(directory() / "out").at("final_state");
  };
  const HostTensor middle = half(0, {}), end = half(500, {{"initial_state", middle}});
  SafetensorsFile whole = read_safetensors(activations);
  for (std::size_t i = 0; i < end.size(); ++i) {
    const double want = whole.at("final_state").get(i);
    ASSERT_NEAR(end.get(i), want, 1e-5 * (1 + std::abs(want)));
  }
}

}  // namespace
}  // namespace wkvc::test
