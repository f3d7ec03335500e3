#include "runtime/tensor/safetensors.h"

#include <sys/resource.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "runtime/base/escape.h"
#include "runtime/base/temporary_directory.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

class Safetensors : public ::testing::Test {
 protected:
  fs::path path() const { return directory_.path() / "x.safetensors"; }

  void write_bytes(std::string_view bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  std::string read_bytes() const {
    std::ifstream stream(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write_header(std::string_view header, std::size_t data_bytes) const {
    const std::uint64_t length = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    write_bytes(bytes + std::string(header) + std::string(data_bytes, '\0'));
  }
  void expect_refused(std::string_view header, std::size_t data_bytes, const std::vector<std::string>& parts) const {
    write_header(header, data_bytes);
    expect_error([&] { read_safetensors(path()); }, parts);
  }

  TemporaryDirectory directory_;
};

TensorMap some_tensors() {
  TensorMap tensors;
  tensors.emplace("half", HostTensor(DType::f16, {3}));
  tensors.emplace("wide", HostTensor(DType::f32, {2, 2}));
  tensors.emplace("brain", HostTensor(DType::bf16, {1, 1, 5}));
  tensors.emplace("empty", HostTensor(DType::f32, {0, 7}));
  tensors.emplace("scalar", HostTensor(DType::f32, {}));
  double next = 0.5;
  for (auto& [name, tensor] : tensors) {
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set(i, next += 1);
  }
  return tensors;
}

TEST_F(Safetensors, RoundTrip) {
  TensorMap tensors = some_tensors();
  write_safetensors(path(), tensors, {{"made by", "a test"}});
  SafetensorsFile file = read_safetensors(path());
  EXPECT_EQ(file.metadata.at("made by"), "a test");
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (auto& [name, tensor] : tensors) {
    const HostTensor& read = file.at(name);
    EXPECT_EQ(read.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(read.shape(), tensor.shape()) << name;
    for (std::size_t i = 0; i < tensor.size(); ++i) EXPECT_EQ(read.get(i), tensor.get(i)) << name;
  }
}

TEST_F(Safetensors, DataIsAligned) {
  write_safetensors(path(), some_tensors());
  const std::string bytes = read_bytes();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_LT(bytes.find("\"wide\""), bytes.find("\"brain\""));  // the widest dtype lies first
}

TEST_F(Safetensors, NoTensorsAtAll) {
  write_safetensors(path(), {});
  EXPECT_TRUE(read_safetensors(path()).tensors.empty());
}

TEST_F(Safetensors, EveryTruncationIsRefused) {
  write_safetensors(path(), some_tensors());
  const std::string bytes = read_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    write_bytes(std::string_view(bytes).substr(0, size));
    EXPECT_THROW(read_safetensors(path()), UserError) << size;
  }
  write_bytes(bytes + "x");
  expect_error([&] { read_safetensors(path()); }, {"its tensors end at"});
}

TEST_F(Safetensors, FlippedBytesAreReadOrRefusedButNeverCrash) {
  write_safetensors(path(), some_tensors());
  const std::string bytes = read_bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const char flip : {'\x01', '\x10', '\x80', '\xff'}) {
      std::string broken = bytes;
      broken[i] = static_cast<char>(broken[i] ^ flip);
      write_bytes(broken);
      try {
        read_safetensors(path());
      } catch (const UserError&) {
      }
    }
  }
}

TEST_F(Safetensors, InconsistentHeadersAreRefused) {
  const std::string x = R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  expect_refused("{" + x + "," + x + "}", 8, {"\"x\" twice"});
  expect_refused("[]", 0, {"array", "expected an object"});
  expect_refused("{", 0, {"not valid JSON"});
  expect_refused(R"({"x":5})", 0, {"\"x\"", "number"});
  expect_refused(R"({"x":{"shape":[2],"data_offsets":[0,8]}})", 8, {"\"x\"", "\"dtype\""});
  expect_refused(R"({"x":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", 8, {"\"shape\"", "array"});
  expect_refused(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, {"-2", "integer"});
  expect_refused(R"({"x":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8, {"2.0", "integer"});
  expect_refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8]}})", 8, {"1 data_offsets"});
  expect_refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, {"[8, 0]"});
  expect_refused(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})", 8, {"[0, 16]", "8 bytes"});
  expect_refused(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, {"8 bytes", "[3]", "takes 12"});
  expect_refused(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
                 {"\"x\"", "more elements"});
  expect_refused(R"({"x":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,0]}})", 0, {"2^63-1"});
  expect_refused("{" + x + R"(,"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, {"\"y\"", "overlap"});
  expect_refused("{" + x + R"(,"y":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})", 16, {"\"y\"", "gap"});
  expect_refused("{" + x + "}", 12, {"end at byte 8", "12 bytes"});
  expect_refused(R"({"__metadata__":{"a":1}})", 0, {"__metadata__", "string"});
  expect_refused(R"({"__metadata__":[]})", 0, {"__metadata__", "array"});
}

TEST_F(Safetensors, AHeaderLengthBeyondTheFileIsRefused) {
  write_bytes("\xff\xff\xff\xff\xff\xff\xff\xff{}");
  expect_error([&] { read_safetensors(path()); }, {"header length", "2 bytes follow"});
}

TEST_F(Safetensors, MetadataMayBeNull) {
  write_header(R"({"__metadata__":null,"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
  SafetensorsFile file = read_safetensors(path());
  EXPECT_TRUE(file.metadata.empty());
  EXPECT_EQ(file.at("x").size(), 1U);
}

// A hole in the file, so that only reading it would take memory.
TEST_F(Safetensors, WhatIsNotWantedTakesNoMemory) {
  const auto peak_kilobytes = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  write_header(R"({"extra":{"dtype":"BF16","shape":[536870912],"data_offsets":[4,1073741828]},)"
               R"("x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
               4);
  fs::resize_file(path(), fs::file_size(path()) + (std::size_t{1} << 30));
  const long before = peak_kilobytes();
  SafetensorsFile file = read_safetensors(path(), wkvc::Names{"x", "y"});
  EXPECT_LT(peak_kilobytes() - before, 100'000);
  EXPECT_EQ(file.at("x").size(), 1U);
  EXPECT_FALSE(file.tensors.contains("extra"));
  EXPECT_TRUE(file.holds("extra"));
  EXPECT_FALSE(file.holds("y"));
}

TEST_F(Safetensors, DoublesAreReadAsFloats) {
  const auto write_doubles = [&](const std::vector<double>& values) {
    write_header(fmt::format(R"({{"x":{{"dtype":"F64","shape":[{}],"data_offsets":[0,{}]}}}})", values.size(),
                             values.size() * 8),
                 0);
    const auto* const bytes = reinterpret_cast<const char*>(values.data());
    write_bytes(read_bytes() + std::string(bytes, values.size() * 8));
  };
  std::vector<double> exact(70'000);
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = 0.25 * static_cast<double>(i) - 8;
  write_doubles(exact);
  SafetensorsFile file = read_safetensors(path());
  EXPECT_EQ(file.at("x").dtype(), DType::f32);
  ASSERT_EQ(file.at("x").size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_EQ(file.at("x").get(i), exact[i]) << i;

  for (const auto& [place, value] : std::map<std::size_t, double>{{0, 0.1}, {69'999, 1e300}}) {
    std::vector<double> values = exact;
    values[place] = value;
    write_doubles(values);
    SafetensorsFile rounded = read_safetensors(path());
    expect_error([&] { rounded.at("x"); }, {"\"x\" is F64", fmt::format("element {} from {}", place, value)});
    EXPECT_EQ(rounded.tensors.at("x").get(place), static_cast<double>(static_cast<float>(value)));
  }
  const double nan = std::nan(""), infinity = HUGE_VAL;
  write_doubles({nan, infinity, -infinity, -0.0});
  EXPECT_EQ(read_safetensors(path()).at("x").get(1), infinity);
  expect_refused(R"({"x":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}})", 8, {"8 bytes", "[2]", "takes 16"});
  expect_refused(R"({"x":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0, {"63 bits"});
}

TEST_F(Safetensors, MessagesEscapeNames) {
  const auto expect_escaped = [&](std::string_view header, std::size_t bytes) {
    write_header(header, bytes);
    try {
      read_safetensors(path()).at("absent");
      ADD_FAILURE() << header;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("\\x1b[31m\\nred"));
      EXPECT_EQ(escaped_name(error.what()), error.what());
    }
  };
  expect_escaped(R"({"\u001b[31m\nred":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
  expect_escaped(R"({"\u001b[31m\nred":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4);
  expect_escaped(R"({"\u001b[31m\nred":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8);
  expect_escaped(R"({"\u001b[31m\nred":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 4);
  expect_escaped(R"({"\u001b[31m\nred":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 4);
  expect_escaped(R"({"\u001b[31m\nred":5})", 4);
  expect_escaped(R"({"\u001b[31m\nred":5,"\u001b[31m\nred":5})", 4);
  expect_escaped(R"({"__metadata__":{"\u001b[31m\nred":5}})", 0);
}

TEST_F(Safetensors, OtherDtypesAreRefusedOnlyWhenAskedFor) {
  write_header(R"({"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
               R"("x":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
               12);
  SafetensorsFile file = read_safetensors(path());
  EXPECT_EQ(file.at("x").size(), 1U);
  expect_error([&] { file.at("i"); }, {"\"i\"", "I64", "expected F64, F32, F16 or BF16"});
  expect_error([&] { file.at("y"); }, {"no tensor \"y\"", "it has: i, x"});
}

TEST_F(Safetensors, FilesThatCannotBeReadAreNamed) {
  expect_error([&] { read_safetensors(path()); }, {path().string(), "No such file"});
  expect_error([&] { read_safetensors(directory_.path()); }, {directory_.path().string()});
}

TEST_F(Safetensors, NothingIsLeftWhenWritingFails) {
  expect_error([&] { write_safetensors(directory_.path() / "no" / "x.safetensors", some_tensors()); },
               {"cannot write", "No such file", "Nothing was written"});
  expect_error([&] { write_safetensors(directory_.path(), some_tensors()); }, {"no regular file"});
  TensorMap reserved;
  reserved.emplace("__metadata__", HostTensor(DType::f32, {1}));
  expect_error([&] { write_safetensors(path(), reserved); }, {"__metadata__"});
  TensorMap not_utf8;
  not_utf8.emplace("\xff", HostTensor(DType::f32, {1}));
  expect_error([&] { write_safetensors(path(), not_utf8); }, {"UTF-8"});
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

}  // namespace
}  // namespace wkvc
