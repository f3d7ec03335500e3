// Files that are not what they should be: each is one clear message and exit status 2, and nothing is written.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <functional>

#include "runtime/tensor/safetensors.h"
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

// A device is not opened: it may have no end.
TEST_F(Files, NoRegularFiles) {
  for (const auto& [path, kind] :
       {std::pair<std::string, std::string>{"/dev/zero", "device"}, {source_directory, "directory"}}) {
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

// What a terminal would obey comes out of no name, neither in a message nor among results.
TEST_F(Files, NamesAreEscaped) {
  const auto expect_no_controls = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find_first_of("\x1b\r\a"), std::string::npos);
    EXPECT_EQ(text.find("\nwkvc: passed"), std::string::npos);
  };
  const std::string named = changed("named.safetensors", [](TensorMap& tensors) {
    tensors.emplace("\x1b[31mred\r\a\nwkvc: passed", HostTensor(DType::f32, {1}));
  });
  const Outcome unused = wkvc({"check", "--source", naive_kernel, "--device", "cpu", "--input", named});
  EXPECT_EQ(unused.status, 0) << unused.err;
  expect_no_controls(unused.err, "\\x1b[31mred\\x0d\\x07\\nwkvc: passed");

  const std::string kernel = contents_of(naive_kernel);
  const auto error_of = [&](const std::string& from, const std::string& to) {
    const Outcome outcome = wkvc(
        {"check", "--source", file("edited.cu", edited(kernel, from, to)), "--device", "cpu", "--input", activations});
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  expect_no_controls(error_of(R"("config":")", R"("config":"\u001b[31m)"), "one line without control characters");
  expect_no_controls(error_of(R"("config":)", R"("\u001b[31m\nwkvc: passed":1,"config":)"), "\\x1b[31m\\nwkvc: passed");
  expect_no_controls(error_of(R"("op":")", R"("op":"\u001b[31m\nwkvc: passed)"), "\\x1b[31m\\nwkvc: passed");
  // The text is shown with what the compiler says of it.
  expect_no_controls(error_of("#include \"wkvc/abi.h\"", "#include \"wkvc/abi.h\"\nint /* \x1b[31m */ 5;"),
                     "/* \\x1b[31m */");
}

// A tensor that nothing uses is a hole here, larger than the memory that the command may have.
TEST_F(Files, WhatNothingUsesIsNotRead) {
  const std::string whole = contents_of(activations);
  std::uint64_t length = 0;
  std::memcpy(&length, whole.data(), sizeof length);
  constexpr std::uint64_t extra = std::uint64_t{32} << 30;
  const std::uint64_t data = whole.size() - 8 - length;
  std::string header = whole.substr(8, length);
  header.replace(header.rfind('}'), 1,
                 fmt::format(R"(,"extra":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}}}})", extra / 4, data,
                             data + extra));
  length = header.size();
  const std::string path = file("large.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + header +
                                                         whole.substr(whole.size() - data));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + extra);
  const auto bounded = [] {
    const rlimit most{std::uint64_t{16} << 30, std::uint64_t{16} << 30};
    setrlimit(RLIMIT_AS, &most);
  };
  const Outcome outcome = wkvc({"check", "--source", naive_kernel, "--device", "cpu", "--input", path}, bounded);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("nothing uses 'extra'"), std::string::npos) << outcome.err;
}

TEST_F(Files, DoublesThatAreExactAreTaken) {
  // All of the file's tensors as F64, with one value of k changed.
  const auto doubled = [&](double k) {
    TensorMap tensors = read_safetensors(activations).tensors;
    std::string header, values;
    for (auto& [name, tensor] : tensors) {
      const std::size_t begin = values.size();
      for (std::size_t i = 0; i < tensor.size(); ++i) {
        const double value = name == "k" && i == 5 && k != 0 ? k : tensor.get(i);
        values.append(reinterpret_cast<const char*>(&value), sizeof value);
      }
      header += fmt::format(R"({}"{}":{{"dtype":"F64","shape":{},"data_offsets":[{},{}]}})", header.empty() ? "{" : ",",
                            name, shape_text(tensor.shape()), begin, values.size());
    }
    header += "}";
    const std::uint64_t size = header.size();
    return file("doubles.safetensors", std::string(reinterpret_cast<const char*>(&size), 8) + header + values);
  };
  const auto check = [&](const std::string& path) {
    return wkvc({"check", "--source", naive_kernel, "--device", "cpu", "--input", path});
  };
  const Outcome exact = check(doubled(0));
  EXPECT_EQ(exact.status, 0) << exact.err;
  EXPECT_EQ(exact.out, check(activations).out);
  expect_bad_input(doubled(1.0009765625),
                   "'k' is F64 and the kernel reads bf16, which would round element 5 from 1.00097");
  expect_bad_input(doubled(0.1), "\"k\" is F64, and f32 rounds element 5 from 0.1 to");
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
  expect_bad_input(changed("dtype.safetensors", widen), "'k' is F32");
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

TEST_F(Files, MistakesInARecurrenceNameItsLineOnce) {
  const std::string path = recurrence(R"(rec.input "r")", R"(rec.nothing "r")");
  const std::string error = wkvc({"emit", "--source", path, "--stage", "chunk"}).err;
  EXPECT_NE(error.find(": " + path + ":"), std::string::npos) << error;
  EXPECT_EQ(error.find(path), error.rfind(path)) << error;
  EXPECT_EQ(error.find("source:"), std::string::npos) << error;
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

TEST_F(Files, NamesOfMapsAreNoInputs) {
  for (const std::string name : {"cu_seqlens", "state_indices"}) {
    expect_mistake({"check", "--source", recurrence(R"(rec.input "r")", "rec.input \"" + name + "\"")},
                   "name '" + name + "' is that of a map of sequences in files and launches: choose another");
  }
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
