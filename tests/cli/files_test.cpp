// Files that are not what they should be: each is one clear message and exit status 2, and nothing is written.
#include <sys/stat.h>

#include <cstdint>
#include <functional>

#include "runtime/safetensors.h"
#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

class Files : public CommandTest {
 protected:
  // The real activations after `change`, in a file.
  std::string changed(const std::string& name, const std::function<void(TensorMap&)>& change) {
    TensorMap tensors = read_safetensors(activations).tensors;
    change(tensors);
    const std::string path = file(name, "");
    write_safetensors(path, tensors);
    return path;
  }

  void expect_bad_input(const std::string& path, const std::string& part) {
    expect_mistake({"check", "--source", naive_kernel, "--device", "cpu", "--input", path}, part);
    expect_mistake({"run", "--source", naive_kernel, "--device", "cpu", "--input", path, "--output", "out.safetensors"},
                   part);
  }

  // Text of the rec stage in which the first `from` is `to`.
  std::string recurrence(const std::string& from, const std::string& to) {
    return file("recurrence.mlir", edited(wkvc({"emit", "rwkv7", "--stage", "rec"}).out, from, to));
  }
};

TEST_F(Files, Unreadable) {
  expect_bad_input("nowhere.safetensors", "nowhere.safetensors");
  expect_bad_input(source_directory, "director");
  expect_mistake({"check", "--source", "nowhere.cu"}, "nowhere.cu");
  expect_mistake({"check", "--source", source_directory}, "director");
}

// Neither is opened: a FIFO would wait for somebody to write into it, and a device may have no end.
TEST_F(Files, NoRegularFiles) {
  const std::filesystem::path fifo = directory().parent_path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const auto& [path, kind] :
       {std::pair<std::string, std::string>{fifo, "FIFO"}, {"/dev/zero", "device"}, {source_directory, "directory"}}) {
    expect_bad_input(path, "is no regular file but a " + kind);
    expect_mistake({"check", "--source", path}, "is no regular file but a " + kind);
  }
}

TEST_F(Files, SourceWithoutEnd) {
  const std::string path = file("long.mlir", "rec.recurrence");
  std::filesystem::resize_file(path, (std::size_t{64} << 20) + 1);  // a hole
  expect_mistake({"emit", "--source", path, "--stage", "cuda"}, "64 MiB");
}

TEST_F(Files, Truncated) {
  const std::string whole = contents_of(activations);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{5}, std::size_t{8}, std::size_t{300}, whole.size() / 2, whole.size() - 1})
    expect_bad_input(file("truncated.safetensors", whole.substr(0, length)), "truncated.safetensors");
  expect_bad_input(file("overlong.safetensors", whole + "x"), "overlong.safetensors");
}

TEST_F(Files, MissingTensor) {
  expect_bad_input(changed("missing.safetensors", [](TensorMap& tensors) { tensors.erase("k"); }), "\"k\"");
}

TEST_F(Files, WrongDtype) {
  const auto widen = [](TensorMap& tensors) {
    HostTensor widened(DType::f32, tensors.at("k").shape());
    for (std::size_t i = 0; i < widened.size(); ++i) widened.set(i, tensors.at("k").get(i) * (1 + 1e-5));
    tensors["k"] = widened;
  };
  expect_bad_input(changed("dtype.safetensors", widen), "'k' is f32");
  const std::string integers = edited(contents_of(activations), R"("BF16")", R"("I16" )");
  expect_bad_input(file("integers.safetensors", integers), "I16");
}

TEST_F(Files, WrongShape) {
  const auto reshape = [](std::vector<std::int64_t> shape) {
    return [shape](TensorMap& tensors) { tensors["k"] = HostTensor(DType::bf16, shape); };
  };
  expect_bad_input(changed("rank.safetensors", reshape({1000, 64})), "k");
  expect_bad_input(changed("tokens.safetensors", reshape({1, 999, 1, 64})), "999");
  expect_bad_input(changed("head.safetensors", reshape({1, 1000, 1, 32})), "32");
  const auto wrong_state = [](TensorMap& tensors) {
    tensors["initial_state"] = HostTensor(DType::f32, {1, 1, 64, 32});
  };
  expect_bad_input(changed("state.safetensors", wrong_state), "initial_state");
}

TEST_F(Files, OutputsThatCannotBeWritten) {
  const std::vector<std::string> run{"run", "--source", naive_kernel, "--device",
                                     "cpu", "--input",  activations,  "--output"};
  for (const std::string path : {"no/such/directory/out", "/proc/out", "."}) {
    std::vector<std::string> arguments = run;
    arguments.push_back(path);
    expect_mistake(arguments, path);
    expect_mistake({"emit", "rwkv7", "--stage", "rec", "-o", path}, path);
  }
  expect_mistake({"emit", "rwkv7", "--stage", "rec", "-o", ""}, "");
}

// Before the work, so that the first complaint is of the output.
TEST_F(Files, OutputsAreTriedFirst) {
  for (const std::string path : {"no/such/folder/out", "", "."}) {
    expect_mistake({"run", "rwkv7", "--input", "nowhere", "--output", path}, "cannot write " + path);
    expect_mistake({"emit", "--source", "nowhere", "--stage", "cuda", "-o", path}, "cannot write " + path);
  }
}

TEST_F(Files, OutputThatIsTheInput) {
  const std::string input = changed("input.safetensors", [](TensorMap&) {});
  const std::filesystem::path link = directory().parent_path() / "link";
  std::filesystem::create_symlink(input, link);
  const std::string before = contents_of(input);
  for (const std::string& output : {input, link.string()}) {
    expect_mistake({"run", "--source", naive_kernel, "--device", "cpu", "--input", input, "--output", output},
                   "that is the file " + input);
  }
  EXPECT_EQ(contents_of(input), before);
  const std::string source = file("step.mlir", wkvc({"emit", "rwkv7", "--stage", "rec"}).out);
  expect_mistake({"emit", "--source", source, "--stage", "chunk", "-o", source}, "that is the file " + source);
}

TEST_F(Files, FailedRunLeavesTheOldOutput) {
  const std::string old = file("out.safetensors", "precious");
  const Outcome outcome = wkvc({"run", "--source", naive_kernel, "--input", "nowhere", "--output", old});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(contents_of(old), "precious");
}

TEST_F(Files, SourcesThatAreNoStage) {
  expect_mistake({"check", "--source", file("empty", "")}, "empty");
  expect_mistake({"check", "--source", file("prose", "Once upon a time")}, "prose");
  expect_mistake({"check", "--source", activations}, activations);
  expect_mistake({"check", "--source", file("bytes", std::string("\0\1\2", 3))}, "bytes");
}

TEST_F(Files, NamesThatWouldNotSurviveInCode) {
  for (const std::string name : {"while", "__global__", "x){", "x\\0Ay", "x*/", "1x", ""}) {
    expect_mistake(
        {"emit", "--source", recurrence(R"(rec.input "r")", "rec.input \"" + name + "\""), "--stage", "cuda"},
        "recurrence.mlir");
  }
  expect_mistake({"emit", "--source", recurrence("@rwkv7", "@while"), "--stage", "cuda"}, "while");
  expect_mistake({"emit", "--source", recurrence("@rwkv7", "@\"a*/b\""), "--stage", "cuda"}, "recurrence.mlir");
}

TEST_F(Files, KernelThatDoesNotCompile) {
  const std::string text = edited(contents_of(naive_kernel), "float Sa", "floot Sa");
  expect_mistake({"check", "--source", file("bad.cu", text), "--device", "cpu"}, "floot");
}

TEST_F(Files, KernelWithABrokenManifest) {
  const std::string text = contents_of(naive_kernel);
  expect_mistake({"check", "--source", file("bad.cu", edited(text, R"("role":"input")", R"("role":"owner")"))},
                 "owner");
  expect_mistake({"check", "--source", file("bad.cu", edited(text, R"("key_dim":64)", R"("key_dim":-64)"))}, "key_dim");
  expect_mistake({"check", "--source", file("bad.cu", edited(text, "mma f32 ", "")), "--device", "cpu"}, "mma");
  expect_mistake({"check", "--source", file("bad.cu", edited(text, R"("op":"rwkv7")", R"("op":"rwkv8")"))}, "rwkv8");
}

}  // namespace
}  // namespace wkvc::test
