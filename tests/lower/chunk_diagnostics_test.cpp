// Sizes of chunks, operands and casts that the compiler refuses, and chunk programs that were edited.
#include "dsl/builtin.h"
#include "tests/chunk_programs.h"
#include "tests/lower/faulty.h"

namespace wkvc::test {
namespace {

Config chunk_of(int chunk, const char* mma = "") {
  Config config;
  config.chunk = chunk;
  config.mma = mma;
  return config;
}

TEST(Chunks, AreMultiplesOf16) {
  for (int chunk : {24, -16, 8, 512, 272, 17})
    expect_contains(error_of(rwkv7(), chunk_of(chunk)),
                    "--chunk " + std::to_string(chunk) + ": expected a multiple of 16 from 16 to 256");
}

TEST(Chunks, FitTheRangeOfDecays) {
  const std::string error = error_of(rwkv7(), chunk_of(32, "f16"));
  expect_contains(error, "--chunk 32: log decays reach -0.6065 a token");
  expect_contains(error, "the range of f16 operands; the largest chunk that fits is 16");
  expect_contains(error_of(rwkv7(), chunk_of(256, "bf16")), "of bf16 operands; the largest chunk that fits is 32");
  expect_contains(error_of(rwkv7(), chunk_of(256, "f32")), "of f32 operands; the largest chunk that fits is 128");
}

// A program without scales has bf16 operands then, too.
TEST(Chunks, OfBf16AreLongerThanThoseOfF16) {
  Config config = chunk_of(32, "bf16");
  config.scales = "guarded";
  const std::string plain = programs_in(lower_to(source_from(rec_text(rwkv7(), config)), Stage::chunk, config)).front();
  EXPECT_TRUE(is_plain(plain));
  expect_contains(plain, "tensor<32x64xbf16>, tensor<32x64xbf16> -> tensor<32x32xf32>");
}

// Their gradients are small differences of sums.
TEST(Chunks, FitTheGradientsOfDecays) {
  const auto of_gradients = [](int chunk, const char* mma) {
    Config config = chunk_of(chunk, mma);
    config.pass = "both";
    return error_of(rwkv7(), config);
  };
  expect_contains(of_gradients(32, "bf16"), "of bf16 operands, with gradients; the largest chunk that fits is 16");
  expect_contains(of_gradients(128, "f32"), "of f32 operands, with gradients; the largest chunk that fits is 64");
}

TEST(Chunks, OfTheExactPathAreShort) {
  for (const Definition& definition : {rwkv6(), rwkv7_logw()})
    expect_contains(error_of(definition, chunk_of(80)),
                    "--chunk 80: decays without a bound take the exact path, whose chunk is at most 64");
}

TEST(Operands, ThatAreNotSupported) {
  const Definition pinned = with([](const Values& at) { at.finish(at.S, dot(at.S, at.r, f32)); });
  expect_contains(error_of(pinned), "a contraction asks for f32 operands but the recurrence for f16");
}

TEST(Casts, ToNarrowDtypesAreRefused) {
  const Definition definition = with([](const Values& at) { at.finish(at.S, cast<f32>(cast<bf16>(at.v))); });
  expect_contains(error_of(definition), "a cast to anything but f32 inside a recurrence is not supported");
}

// With one more output, %z of these lines.
std::string error_of_output(const std::string& lines, const Config& config) {
  std::string text = lower_to(source_from(rec_text(rwkv6(), config)), Stage::chunk, config);
  const std::string type = "tensor<" + std::to_string(config.chunk) + "x32xf32>";
  text.insert(text.find("  chunk.update"), lines + "  chunk.output \"z\" %z as \"f32\" : " + type + "\n");
  return user_error_of([&] { lower_to(source_from(text), Stage::cuda, {}); });
}

TEST(ChunkText, OperationsAlongTokensTakeMatricesOfThem) {
  Config config;
  config.key_dim = config.value_dim = 32;
  config.chunk = 16;
  for (const char* lines : {"  %z = chunk.upper_rows %O half 8 : tensor<16x32xf32>\n",
                            "  %z = chunk.select_halves %O, %O half 8 : tensor<16x32xf32>\n",
                            "  %z = chunk.last_of_other_half %O half 8 : tensor<16x32xf32>\n",
                            "  %z = chunk.sum_of_other_half %O half 8 : tensor<16x32xf32>\n",
                            "  %y = chunk.row %O[3] : tensor<16x32xf32> -> tensor<1x32xf32>\n"
                            "  %z = chunk.add %O, %y : tensor<16x32xf32>, tensor<1x32xf32> -> tensor<16x32xf32>\n"})
    expect_contains(error_of_output(lines, config), "takes a matrix of tokens by keys");
  expect_contains(error_of_output("  %z = chunk.cumsum %O : tensor<16x32xf32>\n", config),
                  "'chunk.cumsum' takes tokens by keys, tokens by tokens or one number a token");
  config.chunk = 32;
  for (const char* lines :
       {"  %z = chunk.tril %L : tensor<32x32xf32>\n", "  %z = chunk.level_pairs %L half 8 : tensor<32x32xf32>\n"})
    expect_contains(error_of_output(lines, config), "takes a matrix of tokens by tokens");
}

// Σ_v (S∘l)∘(S∘l) of a state that contractions read, l being a row: of one value, and of two.
TEST(ChunkText, SumsOfProductsWithRowsAreContractions) {
  Config config;
  config.key_dim = config.value_dim = 32;
  for (const std::string other : {"%x", "%y"}) {
    std::string text = lower_to(source_from(rec_text(rwkv6(), config)), Stage::chunk, config);
    const std::string row = " : tensor<32x32xf32>, tensor<1x32xf32> -> tensor<32x32xf32>\n";
    const std::string lines = "  %x = chunk.mul %S, %L_last" + row + "  %l = chunk.neg %L_last : tensor<1x32xf32>\n" +
                              "  %y = chunk.mul %S, %l" + row + "  %p = chunk.mul %x, " + other +
                              " : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>\n" +
                              "  %sum = chunk.sum_rows %p : tensor<32x32xf32> -> tensor<1x32xf32>\n" +
                              "  %more = chunk.mul %S_next, %sum" + row;
    const std::string update = "  chunk.update %S_next";
    text.replace(text.find(update), update.size(), lines + "  chunk.update %more");
    expect_contains(lower_to(source_from(text), Stage::cuda, {}), "column_dots(");
  }
}

}  // namespace
}  // namespace wkvc::test
