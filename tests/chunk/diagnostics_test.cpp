// One case for every diagnostic of the chunk dialect: the lines, and what the error says.
#include "codegen/chunk/Chunk.h"
#include "codegen/ir/Text.h"
#include "tests/chunk/chunk_text.h"
#include "tests/expect_error.h"

namespace wkvc::test {
namespace {

std::string error_of(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<chunk::ChunkDialect>();
  return user_error_of([&] { parse(text, context); });
}

struct Case {
  const char* name;
  const char* lines;
  const char* error;
};

void PrintTo(const Case& c, std::ostream* stream) { *stream << c.name; }

class Lines : public testing::TestWithParam<Case> {};

TEST_P(Lines, AreRefused) {
  const std::string error = error_of(with(GetParam().lines));
  expect_contains(error, GetParam().error);
  expect_contains(error, "line 8: ");
}

class BackwardLines : public testing::TestWithParam<Case> {};

TEST_P(BackwardLines, AreRefused) {
  const std::string error = error_of(with_backward(GetParam().lines));
  expect_contains(error, GetParam().error);
  expect_contains(error, "line 8: ");
}

TEST(Programs, AreForTheGpuThatThereIs) {
  for (const char* arch : {"sm_90", "sm_100a", "sm_120a", "sm_80"}) {
    std::string text = with("");
    const std::string attributes = "attributes {";
    text.insert(text.find(attributes) + attributes.size(), std::string("arch = \"") + arch + "\", ");
    expect_contains(error_of(text), std::string("arch is \"") + arch + "\"; expected sm_90a");
  }
}

TEST(BackwardPrograms, HaveOneSavedState) {
  const std::string state = "  %Z = chunk.saved_state \"Z\" : tensor<48x32xf32>\n";
  const std::string other = "  %Y = chunk.saved_state \"Y\" : tensor<48x32xf32>\n";
  const std::string one = "  %c = chunk.constant 1.0 dims \"VK\" : tensor<48x32xf32>\n";
  const std::string update = "  chunk.update_saved %c : tensor<48x32xf32>\n";
  const std::string of_gradient = "  chunk.update_saved %S : tensor<48x32xf32>\n";
  expect_contains(error_of(with_backward(state + of_gradient)), "depends on the gradient of the state");
  expect_contains(error_of(with_backward(state + other)), "has 2 saved states and 0 updates of them");
  expect_contains(error_of(with_backward(one + state + update + update)), "has 1 saved states and 2 updates of them");
  expect_contains(error_of(with_backward(one + update)), "has 0 saved states and 1 updates of them");
}

const Case backward_cases[] = {
    {"UpdateOfTheSavedStateShape", "  chunk.update_saved %x : tensor<16x32xf32>\n", "expected 48x32"},
    {"SavedStateExponent", "  %Z = chunk.saved_state \"Z\" exponent -65 : tensor<48x32xf32>\n",
     "has the exponent -65; expected -64 to 64"},
    {"SavedStateShape", "  %Z = chunk.saved_state \"Z\" : tensor<32x48xf32>\n", "expected 48x32"},
    {"KeptDim", "  %M = chunk.input \"M\" kept dim \"K\" : tensor<16x32xf32>\n", "expected \"T\""},
    {"KeptShape", "  %M = chunk.input \"M\" kept dim \"T\" : tensor<16x32xf32>\n", "expected 16x16"},
    {"AccumulateRows", "  chunk.accumulate \"dk\" %x gradient_of \"k\" as \"bf16\" : tensor<16x32xf32>\n",
     "expected 1x32"},
    {"AccumulateDtype", "  chunk.accumulate \"du\" %u gradient_of \"u\" as \"f8\" : tensor<1x32xf32>\n",
     "has the dtype \"f8\""},
    {"AccumulateName", "  chunk.accumulate \"u_sum\" %u gradient_of \"u\" as \"f32\" : tensor<1x32xf32>\n",
     "the gradient of \"u\" is called \"du\""},
};

const Case cases[] = {
    {"Syntax", "  %0 = chunk.neg %x\n", "expected ':'"},
    {"UnknownOperation", "  %0 = chunk.cos %x : tensor<16x32xf32>\n", "chunk.cos"},
    {"ForeignOperation", "  %0 = \"builtin.unrealized_conversion_cast\"(%x) : (tensor<16x32xf32>) -> i32\n",
     "does not belong in a chunk.program"},
    {"UndefinedValue", "  %0 = chunk.neg %nothing : tensor<16x32xf32>\n",
     "the value %nothing is used before it is defined"},
    {"LaterValue", "  %0 = chunk.neg %1 : tensor<16x32xf32>\n  %1 = chunk.neg %x : tensor<16x32xf32>\n",
     "the value %1 is used before it is defined"},
    {"InputDim", "  %z = chunk.input \"z\" dim \"T\" : tensor<16x32xf32>\n",
     "has the dim \"T\"; expected \"K\", \"V\""},
    {"InputTokens", "  %z = chunk.input \"z\" dim \"K\" : tensor<32x32xf32>\n", "expected 16x32"},
    {"InputExtent", "  %z = chunk.input \"z\" dim \"K\" : tensor<16x48xf32>\n", "expected 16x32"},
    {"InputDtype", "  %z = chunk.input \"z\" dim \"K\" : tensor<16x32xf64>\n", "must be 2D tensor of"},
    {"InputRank", "  %z = chunk.input \"z\" dim \"K\" : tensor<16xf32>\n", "must be 2D tensor of"},
    {"DynamicShape", "  %z = chunk.input \"z\" dim \"K\" : tensor<?x32xf32>\n", "sizes here are 1, 16 tokens"},
    {"Unranked", "  %z = chunk.neg %x : tensor<*xf32>\n", "invalid kind of type specified"},
    {"Encoding", "  %z = chunk.input \"z\" dim \"K\" : tensor<16x32xf32, \"rows\">\n", "has an encoding"},
    {"ParameterRows", "  %z = chunk.parameter \"z\" dim \"K\" : tensor<16x32xf32>\n", "expected 1x32"},
    {"NameTaken", "  %z = chunk.input \"k\" dim \"K\" : tensor<16x32xf32>\n", "the name \"k\" is taken"},
    {"NameOfOutputTaken", "  chunk.output \"k\" %v as \"bf16\" : tensor<16x48xf32>\n", "the name \"k\" is taken"},
    {"NameUnusable", "  %z = chunk.input \"a b\" dim \"K\" : tensor<16x32xf32>\n", "is not an identifier"},
    {"StateShape", "  %Z = chunk.state \"Z\" : tensor<32x48xf32>\n", "expected 48x32"},
    {"StateDtype", "  %Z = chunk.state \"Z\" : tensor<48x32xbf16>\n", "must be 2D tensor of 32-bit float"},
    {"ConstantNotFinite", "  %c = chunk.constant 0x7FF0000000000000 : tensor<1x1xf32>\n", "needs a finite number"},
    {"ConstantNotFiniteInF32", "  %c = chunk.constant 1.0e+300 : tensor<1x1xf32>\n", "needs a finite number"},
    {"ConstantSize", "  %c = chunk.constant 1.0 : tensor<9000000000x9000000000xf32>\n", "sizes here are 1, 16 tokens"},
    {"UnaryDtype", "  %0 = chunk.exp %k : tensor<16x32xbf16>\n", "must be 2D tensor of 32-bit float"},
    {"UnaryShape", "  %0 = \"chunk.exp\"(%x) : (tensor<16x32xf32>) -> tensor<16x16xf32>\n", "same type"},
    {"Broadcast", "  %0 = chunk.add %x, %v : tensor<16x32xf32>, tensor<16x48xf32> -> tensor<16x48xf32>\n",
     "do not broadcast to"},
    {"BroadcastResult", "  %0 = chunk.mul %x, %g : tensor<16x32xf32>, tensor<16x1xf32> -> tensor<16x1xf32>\n",
     "do not broadcast to"},
    {"SubOfColumns", "  %0 = chunk.sub %u, %g : tensor<1x32xf32>, tensor<16x1xf32> -> tensor<1x32xf32>\n",
     "do not broadcast to"},
    {"AtLeastNotFinite", "  %0 = chunk.at_least %x, 0x7FC00000 : tensor<16x32xf32>\n", "needs a finite number"},
    {"WidenShape", "  %0 = chunk.widen %k : tensor<16x32xbf16> -> tensor<32x16xf32>\n", "keeps the shape"},
    {"RoundShape", "  %0 = chunk.round %x : tensor<16x32xf32> -> tensor<16x16xf16>\n", "keeps the shape"},
    {"RoundScale", "  %0 = chunk.round %x scale [\"x\"] times 1.0 : tensor<16x32xf32> -> tensor<16x32xbf16>\n",
     "only f16 operands carry a scale"},
    {"RoundOfUnknown", "  %0 = chunk.round %x scale [\"y\"] times 1.0 : tensor<16x32xf32> -> tensor<16x32xf16>\n",
     "takes its scale from \"y\", which is no input"},
    {"RoundOfParameter", "  %0 = chunk.round %x scale [\"u\"] times 1.0 : tensor<16x32xf32> -> tensor<16x32xf16>\n",
     "takes its scale from \"u\", which is no input"},
    {"RoundOfNumbers", "  %0 = chunk.round %x scale [\"g\"] times 1.0 : tensor<16x32xf32> -> tensor<16x32xf16>\n",
     "takes its scale from \"g\", which is no input over keys or values"},
    {"RoundPlusNothing",
     "  %0 = chunk.round %x scale [\"x\", \"+\"] times 1.0 : tensor<16x32xf32> -> tensor<16x32xf16>\n",
     "has a bound with \"+\" beside nothing"},
    {"RoundNothingPlus",
     "  %0 = chunk.round %x scale [\"+\", \"x\"] times 1.0 : tensor<16x32xf32> -> tensor<16x32xf16>\n",
     "has a bound with \"+\" beside nothing"},
    {"RoundFactorNegative", "  %0 = chunk.round %x scale [\"x\"] times -1.0 : tensor<16x32xf32> -> tensor<16x32xf16>\n",
     "has a negative factor"},
    {"RoundFactorNotFinite",
     "  %0 = chunk.round %x scale [] times 0x7F800000 : tensor<16x32xf32> -> tensor<16x32xf16>\n",
     "needs a finite number"},
    {"RoundFactorAlone", "  %0 = chunk.round %x {factor = 1.0 : f32} : tensor<16x32xf32> -> tensor<16x32xf16>\n",
     "both or neither of bound and factor"},
    {"KeepValidOfOneRow", "  %0 = chunk.keep_valid %u : tensor<1x32xf32>\n",
     "expected a row for each of the 16 tokens"},
    {"CumsumOfTheState", "  %0 = chunk.cumsum %S : tensor<48x32xf32>\n", "expected a row for each of the 16 tokens"},
    {"RowOutside", "  %0 = chunk.row %x[16] : tensor<16x32xf32> -> tensor<1x32xf32>\n", "row 16 of a matrix with 16"},
    {"RowNegative", "  %0 = chunk.row %x[-1] : tensor<16x32xf32> -> tensor<1x32xf32>\n", "row -1 of a matrix"},
    {"RowShape", "  %0 = chunk.row %x[0] : tensor<16x32xf32> -> tensor<16x32xf32>\n", "gives one row of"},
    {"DotDimension",
     "  %0 = chunk.dot %x over 2, %x over 1 : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x16xf32>\n",
     "contracts dimension 0 or 1"},
    {"DotExtents",
     "  %0 = chunk.dot %x over 1, %v over 1 : tensor<16x32xf32>, tensor<16x48xf32> -> tensor<16x16xf32>\n",
     "contracts 32 with 48 elements"},
    {"DotDtypes",
     "  %0 = chunk.dot %x over 1, %k over 1 : tensor<16x32xf32>, tensor<16x32xbf16> -> tensor<16x16xf32>\n",
     "operands must have one dtype"},
    {"DotResult", "  %0 = chunk.dot %x over 1, %x over 1 : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x32xf32>\n",
     "gives 16x16, not"},
    {"ColumnDots", "  %0 = chunk.column_dots %S, %x : tensor<48x32xf32>, tensor<16x32xf32> -> tensor<1x32xf32>\n",
     "operands must have one type"},
    {"ColumnDotsResult", "  %0 = chunk.column_dots %S, %S : tensor<48x32xf32>, tensor<48x32xf32> -> tensor<48x1xf32>\n",
     "gives one row of"},
    {"ColumnDotsOfTokens",
     "  %0 = chunk.column_dots %x, %x : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<1x32xf32>\n", "expected 48x32"},
    {"DiagonalDot", "  %0 = chunk.diagonal_dot %x, %v : tensor<16x32xf32>, tensor<16x48xf32> -> tensor<16x16xf32>\n",
     "needs two C×K operands and a C×C result"},
    {"DiagonalDotOfTheState",
     "  %0 = chunk.diagonal_dot %S, %S : tensor<48x32xf32>, tensor<48x32xf32> -> tensor<48x48xf32>\n",
     "expected a row for each of the 16 tokens"},
    {"LevelOfThree", "  %0 = chunk.select_halves %x, %x half 3 : tensor<16x32xf32>\n",
     "has half blocks of 3; expected a power of two below 16"},
    {"LevelOfTheChunk", "  %0 = chunk.upper_rows %x half 16 : tensor<16x32xf32>\n",
     "has half blocks of 16; expected a power of two below 16"},
    {"LevelOfNothing", "  %0 = chunk.lower_rows %x half 0 : tensor<16x32xf32>\n", "has half blocks of 0"},
    {"LevelOfTheState", "  %0 = chunk.upper_rows %S half 8 : tensor<48x32xf32>\n",
     "expected a row for each of the 16 tokens"},
    {"LevelPairsOfKeys", "  %0 = chunk.level_pairs %x half 8 : tensor<16x32xf32>\n", "expected 16x16"},
    {"AtRowOutside", "  %0 = chunk.at_row %u[16] : tensor<1x32xf32> -> tensor<16x32xf32>\n",
     "row 16 of a matrix with 16"},
    {"AtRowOfAMatrix", "  %0 = chunk.at_row %x[0] : tensor<16x32xf32> -> tensor<16x32xf32>\n", "takes one row of"},
    {"AtRowOfTheState", "  %0 = chunk.at_row %u[0] : tensor<1x32xf32> -> tensor<48x32xf32>\n",
     "expected a row for each of the 16 tokens"},
    {"SumRows", "  %0 = chunk.sum_rows %x : tensor<16x32xf32> -> tensor<16x1xf32>\n", "gives one row of"},
    {"SumColumns", "  %0 = chunk.sum_columns %x : tensor<16x32xf32> -> tensor<1x32xf32>\n", "gives one column of"},
    {"DiagonalOfKeys", "  %0 = chunk.diagonal %x : tensor<16x32xf32> -> tensor<16x1xf32>\n", "takes a square matrix"},
    {"NotBelowNotFinite", "  %0 = chunk.not_below %x, 0x7F800000 : tensor<16x32xf32>\n", "needs a finite number"},
    {"ExceedsNotFinite", "  %0 = chunk.exceeds %x, 0x7FC00000 : tensor<16x32xf32>\n", "needs a finite number"},
    {"ConstantWithoutDims", "  %c = chunk.constant 1.0 : tensor<16x32xf32>\n", "expected 1x1"},
    {"ConstantDims", "  %c = chunk.constant 1.0 dims \"TX\" : tensor<16x32xf32>\n",
     "has the dims \"TX\"; expected two of T, K, V and 1"},
    {"ConstantShape", "  %c = chunk.constant 1.0 dims \"TV\" : tensor<16x32xf32>\n", "expected 16x48"},
    {"SavedStateOfAForwardProgram", "  %Z = chunk.saved_state \"Z\" : tensor<48x32xf32>\n",
     "belongs in a backward program"},
    {"SavedStateUpdatedInAForwardProgram", "  chunk.update_saved %S : tensor<48x32xf32>\n",
     "belongs in a backward program"},
    {"AccumulateOfAForwardProgram", "  chunk.accumulate \"du\" %u gradient_of \"u\" as \"bf16\" : tensor<1x32xf32>\n",
     "belongs in a backward program"},
    {"GradientName", "  chunk.output \"gk\" %x gradient_of \"k\" as \"bf16\" : tensor<16x32xf32>\n",
     "the gradient of \"k\" is called \"dk\""},
    {"IncomingGradientName", "  %z = chunk.input \"z\" gradient_of \"o\" dim \"V\" : tensor<16x48xf32>\n",
     "the gradient of \"o\" is called \"do\""},
    {"TrilOfKeys", "  %0 = chunk.tril %x : tensor<16x32xf32>\n", "expected 16x16"},
    {"InverseOfKeys", "  %0 = chunk.unit_lower_inverse %x in \"f32\" : tensor<16x32xf32>\n", "expected 16x16"},
    {"InverseDtype", "  %0 = chunk.unit_lower_inverse %x in \"f64\" : tensor<16x32xf32>\n", "has the dtype \"f64\""},
    {"UpdateShape", "  chunk.update %x : tensor<16x32xf32>\n", "expected 48x32"},
    {"OutputShape", "  chunk.output \"z\" %u as \"bf16\" : tensor<1x32xf32>\n", "expected a row for each of the 16"},
    {"KeptOutputShape", "  chunk.output \"z\" %x kept as \"f32\" : tensor<16x32xf32>\n", "expected 16x16"},
    {"FoldedKeys", "  %0 = chunk.round %x : tensor<16x32xf32> -> tensor<16x32x!wkvc.lower_f16x2>\n",
     "expected a square matrix"},
    {"FoldedInput", "  %z = chunk.input \"z\" dim \"K\" : tensor<16x32x!wkvc.lower_f16x2>\n",
     "as square matrices that are kept alone can be"},
    {"FoldedOutput", "  chunk.output \"z\" %v as \"lower_f16x2\" : tensor<16x48xf32>\n",
     "has the dtype \"lower_f16x2\""},
    {"OutputDtype", "  chunk.output \"z\" %v as \"f8\" : tensor<16x48xf32>\n", "has the dtype \"f8\""},
};

std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Chunk, Lines, testing::ValuesIn(cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Chunk, BackwardLines, testing::ValuesIn(backward_cases), name_of_case);

TEST(Summaries, GiveTheStateAlone) {
  const std::string summary =
      header("16", "key_dim = 32 : i64, schedule = #wkvc.schedule<grid(segments = 4)>, summary = \"full\"");
  auto error = [&](const std::string& lines) { return error_of(summary + inputs() + lines + ending()); };
  expect_contains(error(""), "does not belong in a summary, which gives the state alone");
  expect_contains(error_of(with("  %0 = chunk.offset %x : tensor<16x32xf32>\n")), "belongs in a summary");
  expect_contains(error_of(header("16", "key_dim = 32 : i64, plain = [\"z\"]") + inputs() + ending()),
                  "expects \"z\" to be of ordinary size, which is no input of it");
  expect_contains(error_of(header("16", "key_dim = 32 : i64, plain = [], refused") + inputs() + ending()),
                  "is plain, and for what a plain one refuses");
  expect_contains(
      error_of(header("16", "key_dim = 32 : i64, plain = [\"x\"]") + inputs() +
               "  %0 = chunk.round %x scale [\"x\"] times 1.0 : tensor<16x32xf32> -> tensor<16x32xf16>\n" + ending()),
      "has a scale in a plain program");
  expect_contains(error_of(header("16", "key_dim = 32 : i64, summary = \"some\"") + inputs() + ending()),
                  "is a summary with a \"some\" map; expected full or diagonal");
  const auto error_of_schedule = [](const std::string& fields) {
    return error_of(header("16", "key_dim = 32 : i64, schedule = #wkvc.schedule<" + fields + ">") + inputs() +
                    ending());
  };
  for (auto [segments, given] : {std::pair{"0", "0"}, {"257", "257"}, {"some", "nothing"}, {"0.5", "nothing"}})
    expect_contains(error_of_schedule("grid(segments = " + std::string(segments) + ")"),
                    "a schedule's grid has segments = " + std::string(given) + "; expected 1 to 256");
  for (auto [prefetch, given] : {std::pair{"3", "nothing"}, {"all", "all"}, {"-1", "nothing"}})
    expect_contains(
        error_of_schedule("memory(prefetch = " + std::string(prefetch) + ")"),
        "a schedule's memory has prefetch = " + std::string(given) + "; expected automatic or none or inputs");
}

TEST(Programs, HaveOneStateAndOneUpdate) {
  const char* state = "  %Z = chunk.state \"Z\" : tensor<48x32xf32>\n";
  expect_contains(error_of(with(state)), "has 2 states; expected exactly one");
  expect_contains(error_of(with("  chunk.update %S : tensor<48x32xf32>\n")), "has 2 updates; expected exactly one");
  expect_contains(error_of(header() + "}\n"), "has 0 states; expected exactly one");
}

TEST(Programs, HaveUsableAttributes) {
  auto error = [](const std::string& head) { return error_of(head + inputs() + ending()); };
  const std::string dims = "key_dim = 32 : i64";
  for (const char* chunk : {"0", "-16", "24", "272", "9223372036854775807"})
    expect_contains(error(header(chunk)),
                    std::string("chunk is ") + chunk + "; expected a multiple of 16 from 16 to 256");
  expect_contains(error(header("16", "key_dim = 40 : i64")), "key_dim is 40; expected a multiple of 16");
  expect_contains(error(header("16", dims, "f8")), "compute is \"f8\"; expected bf16, bf16x3, f16 or f32");
  expect_contains(error(header("16", dims, "f16", "0")), "sram_budget is 0 bytes; expected 1 to 232448");
  expect_contains(error(header("16", dims, "f16", "232449")), "sram_budget is 232449 bytes");
  expect_contains(error(header("99999999999999999999")), "integer constant out of range");
  expect_contains(error(header("16", "key = 32 : i64")), "requires attribute 'key_dim'");
  std::string renamed = header();
  renamed.replace(renamed.find("example"), 7, "a){");
  expect_contains(error(renamed), "is not an identifier");
}

TEST(Programs, AreOneBlockWithoutArguments) {
  expect_contains(error_of(header() + "^bb0(%z: tensor<16x32xf32>):\n" + inputs() + ending()), "takes no arguments");
  expect_contains(error_of(header() + inputs() + "^bb1:\n" + ending()), "expects region #0 to have 0 or 1 blocks");
  std::string inner = header() + inputs() + ending();
  for (std::size_t at = 0; (at = inner.find('%', at)) != std::string::npos; ++at) inner.insert(at + 1, "inner_");
  expect_contains(error_of(with(inner)), "can't be inside another chunk.program");
}

TEST(Programs, AreOfASensibleLength) {
  std::string lines;
  for (int i = 0; i < 10000; ++i) lines += "  %z" + std::to_string(i) + " = chunk.neg %x : tensor<16x32xf32>\n";
  expect_contains(error_of(with(lines)), "operations; expected at most 10000");
}

TEST(Texts, ThatNestWithoutEnd) {
  auto repeated = [](const char* part) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += part;
    return text;
  };
  for (const char* part : {"[", "{a = ", "tensor<", "\"\"[//)]\n\")])\"", "module { %0 = \"a->b\"() : () -> ("})
    expect_contains(error_of(with("  %0 = chunk.neg %x {a = " + repeated(part))), "nests more than 64 deep");
}

TEST(Texts, ThatAreNotText) {
  for (const std::string& text :
       {std::string("\0{", 2), std::string("\xff\xfe%"), std::string("\""), std::string("}}}}"), std::string("%")})
    EXPECT_NE(error_of(text), "") << text;
}

}  // namespace
}  // namespace wkvc::test
