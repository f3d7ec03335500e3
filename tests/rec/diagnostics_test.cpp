// One case for every diagnostic of the rec dialect: the lines, and what the error says.
#include "codegen/rec/Rec.h"
#include "tests/expect_error.h"
#include "tests/rec/rec_text.h"

namespace wkvc::test {
namespace {

std::string error_of(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  return user_error_of([&] { rec::parse(text, "test.mlir", context); });
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
  expect_contains(error, "test.mlir:8: ");
}

const Case cases[] = {
    {"Syntax", "  %0 = rec.neg %x\n", "expected ':'"},
    {"UnknownOperation", "  %0 = rec.cos %x : tensor<64xf32>\n", "rec.cos"},
    {"ForeignOperation", "  \"builtin.module\"() ({^bb0:}) : () -> ()\n", "does not belong in a rec.recurrence"},
    {"Dim", "  %z = rec.input \"z\" dim T : tensor<64xbf16>\n", "expected dim K, V or 1"},
    {"DimNumber", "  %z = rec.input \"z\" dim 2 : tensor<64xbf16>\n", "expected dim K, V or 1"},
    {"InputExtent", "  %z = rec.input \"z\" dim K : tensor<32xbf16>\n",
     "has type 'tensor<32xbf16>', but dim K has 64 elements"},
    {"InputDtype", "  %z = rec.input \"z\" dim K : tensor<64xf64>\n", "vector or scalar of f32, f16 or bf16"},
    {"InputRank", "  %z = rec.input \"z\" dim K : tensor<64x64xf32>\n", "vector or scalar of f32, f16 or bf16"},
    {"DynamicShape", "  %z = rec.input \"z\" dim K : tensor<?xf32>\n", "vector or scalar of f32, f16 or bf16"},
    {"RangeEmpty", "  %z = rec.input \"z\" dim K in [1.0, 0.0] : tensor<64xf32>\n", "lo must not exceed hi"},
    {"RangeNotFinite", "  %z = rec.assume %x in [0.0, 0x7FF0000000000000] : tensor<64xf32>\n", "finite numbers"},
    {"RangeWithoutPoint", "  %z = rec.input \"z\" dim K in [-1e38, 0.0] : tensor<64xf32>\n",
     "expected a number with a point, as in [-5.0, 0.0] or [-1.0e38, 0.0]"},
    {"RangeOfWholeNumbers", "  %z = rec.assume %x in [-5, 0] : tensor<64xf32>\n", "expected a number with a point"},
    {"RangeThatDoesNotEnd", "  %z = rec.assume %x in [-5.0, 0.0 : tensor<64xf32>\n", "expected ']'"},
    {"RangeOfThree", "  %u = rec.parameter \"u\" dim K in [0.0, 1.0, 2.0] : tensor<64xf32>\n", "two numbers"},
    {"StateDtype", "  %Z = rec.state \"Z\" : tensor<32x64xbf16>\n", "matrix of f32"},
    {"SecondState", "  %Z = rec.state \"Z\" : tensor<32x64xf32>\n", "is the second rec.state; expected exactly one"},
    {"ConstantNotFinite", "  %c = rec.constant 0x7F800000 dim K : tensor<64xf32>\n", "needs a finite number"},
    {"ConstantDtype", "  %c = rec.constant 1.0 dim K : tensor<64xbf16>\n", "of f32 (dtypes are never promoted"},
    {"CastShape", "  %c = rec.cast %k : tensor<64xbf16> to tensor<32xf32>\n", "changes the dtype, not the shape"},
    {"CastToItself", "  %c = rec.cast %x : tensor<64xf32> to tensor<64xf32>\n", "to itself: drop it"},
    {"UnaryDtype", "  %0 = rec.exp %k : tensor<64xbf16>\n", "write rec.cast"},
    {"UnaryOfMatrix", "  %0 = rec.exp %S : tensor<32x64xf32>\n", "vector or scalar of f32"},
    {"BinaryDtype", "  %0 = rec.add %k, %k : tensor<64xbf16>\n", "write rec.cast"},
    {"BinaryOperands", "  %0 = rec.add %x, %k : tensor<64xf32>\n", "use of value '%k' expects different type"},
    {"MulOfMatrices", "  %0 = rec.mul %S, %S : tensor<32x64xf32>\n", "vector or scalar of f32"},
    {"ScaleByVector", "  %0 = rec.scale %x, %S : tensor<32x64xf32>\n", "expects different type"},
    {"BroadcastExtent", "  %0 = rec.broadcast %g dim V : tensor<64xf32>\n", "dim V has 32 elements"},
    {"DiagonalDtype", "  %0 = rec.diag_mul %S, %k : tensor<32x64xf32>, tensor<64xbf16>\n", "write rec.cast"},
    {"DiagonalAxis", "  %0 = rec.diag_mul %S, %y : tensor<32x64xf32>, tensor<32xf32>\n",
     "takes a vector of dim K, not dim V"},
    {"DotExtents", "  %0 = rec.dot %S, %v : tensor<32x64xf32>, tensor<32xbf16> -> tensor<32xf32>\n",
     "contracts over different extents, 64 and 32"},
    {"DotResult", "  %0 = rec.dot %S, %k : tensor<32x64xf32>, tensor<64xbf16> -> tensor<64xf32>\n",
     "gives 32 numbers, not 64"},
    {"DotCompute", "  %0 = rec.dot %S, %k compute \"f8\" : tensor<32x64xf32>, tensor<64xbf16> -> tensor<32xf32>\n",
     "has compute 'f8'; expected bf16, bf16x3, f16 or f32"},
    {"OuterResult", "  %0 = rec.outer %v, %k : tensor<32xbf16>, tensor<64xbf16> -> tensor<64x32xf32>\n",
     "gives 32x64 numbers"},
    {"OuterAxes", "  %0 = rec.outer %k, %v : tensor<64xbf16>, tensor<32xbf16> -> tensor<64x32xf32>\n",
     "a matrix has 32x64 elements"},
    {"OuterCompute", "  %0 = rec.outer %v, %k compute \"\" : tensor<32xbf16>, tensor<64xbf16> -> tensor<32x64xf32>\n",
     "has compute ''"},
    {"UpdateOfNoState", "  %0 = rec.scale %g, %S : tensor<32x64xf32>  rec.update %0, %S : tensor<32x64xf32>\n",
     "needs a rec.state as its first operand"},
    {"OutputDtype", "  rec.output \"p\" %x dim K : tensor<64xf32> as i32\n",
     "stored as 'i32'; expected f32, f16 or bf16"},
    {"OutputPromoted", "  rec.output \"p\" %k dim K : tensor<64xbf16> as f32\n", "write rec.cast"},
    {"OutputAxis", "  rec.output \"p\" %x dim V : tensor<64xf32> as f32\n", "takes a vector of dim V, not dim K"},
    {"UseOfItself", "  %0 = rec.neg %0 : tensor<64xf32>\n", "uses a value that is defined later"},
    {"Cycle", "  %0 = rec.neg %1 : tensor<64xf32>\n  %1 = rec.neg %0 : tensor<64xf32>\n", "used before it is defined"},
    {"NameTwice", "  %z = rec.input \"k\" dim K : tensor<64xbf16>\n", "reuses the name 'k'"},
    {"OutputTwice",
     "  rec.output \"p\" %x dim K : tensor<64xf32> as f32  rec.output \"p\" %x dim K : tensor<64xf32> as f32\n",
     "reuses the name 'p'"},
    {"NameKeyword", "  %z = rec.input \"float\" dim K : tensor<64xbf16>\n", "'float' is a C++ keyword"},
    {"NameReserved", "  %threadIdx = rec.neg %x : tensor<64xf32>\n", "'threadIdx' is used by emitted kernels"},
    {"NameOfOutput", "  rec.output \"){\" %x dim K : tensor<64xf32> as f32\n", "'){' is not an identifier"},
};

INSTANTIATE_TEST_SUITE_P(Rec, Lines, testing::ValuesIn(cases), [](const auto& test) { return test.param.name; });

// K and V stay apart where they are equal.
std::string square(const std::string& lines) {
  return R"(rec.recurrence @square attributes {key_dim = 64, value_dim = 64, compute = "f16", sram_budget = 232448} {
  %x = rec.input "x" dim K : tensor<64xf32>
  %y = rec.input "y" dim V : tensor<64xf32>
  %S = rec.state "S" : tensor<64x64xf32>
)" + lines +
         "  rec.update %S, %S : tensor<64x64xf32>\n  rec.output \"o\" %y dim V : tensor<64xf32> as bf16\n}\n";
}

TEST(SquareHead, KeepsAxesApart) {
  expect_contains(error_of(square("  %0 = rec.add %x, %y : tensor<64xf32>\n")), "mixes dim K with dim V");
  expect_contains(error_of(square("  %0 = rec.diag_mul %S, %y : tensor<64x64xf32>, tensor<64xf32>\n")), "not dim V");
  const std::string vectors = " : tensor<64xf32>, tensor<64xf32> -> ";
  expect_contains(error_of(square("  %0 = rec.dot %x, %y" + vectors + "tensor<1xf32>\n")), "mixes dim K with dim V");
  expect_contains(error_of(square("  %0 = rec.outer %x, %y" + vectors + "tensor<64x64xf32>\n")), "dim V, not dim K");
  expect_contains(error_of(square("  %0 = rec.dot %S, %y : tensor<64x64xf32>, tensor<64xf32> -> tensor<64xf32>\n")),
                  "dim K, not dim V");
}

std::string with_header(const std::string& attributes) {
  return "rec.recurrence @" + attributes + " {\n" + inputs() + state() + ending();
}

TEST(RecurrenceAttributes, AreChecked) {
  const auto header_error = [](const std::string& k, const std::string& compute, const std::string& sram) {
    return error_of(with_header("decay attributes {key_dim = " + k + ", value_dim = 32, compute = \"" + compute +
                                "\", sram_budget = " + sram + "}"));
  };
  expect_contains(header_error("60", "f16", "1024"), "key_dim is 60; expected a multiple of 16 from 16 to 256");
  expect_contains(header_error("0", "f16", "1024"), "key_dim is 0");
  expect_contains(header_error("272", "f16", "1024"), "key_dim is 272");
  expect_contains(header_error("-64", "f16", "1024"), "key_dim is -64");
  expect_contains(header_error("64", "int8", "1024"), "compute 'int8'; expected bf16, bf16x3, f16 or f32");
  expect_contains(header_error("64", "f16", "0"), "sram_budget is 0 bytes");
  expect_contains(header_error("64", "f16", "-1"), "sram_budget is -1 bytes");
  expect_contains(header_error("64", "f16", "232449"), "sram_budget is 232449 bytes; expected 1 to 232448 (227 KiB");
  expect_contains(
      error_of(with_header("while attributes {key_dim = 64, value_dim = 32, compute = \"f16\", sram_budget = 1}")),
      "'while' is a C++ keyword");
}

TEST(RecurrenceBody, IsComplete) {
  const std::string output = "  rec.output \"o\" %y dim V : tensor<32xf32> as bf16\n";
  const std::string update = "  rec.update %S, %S : tensor<32x64xf32>\n";
  expect_contains(error_of(header() + inputs() + output + "}"), "has no rec.state");
  expect_contains(error_of(header() + inputs() + "  %S = rec.state \"S\" : tensor<64x32xf32>\n" +
                           "  rec.update %S, %S : tensor<64x32xf32>\n" + output + "}"),
                  "a matrix has 32x64 elements");
  expect_contains(error_of(header() + inputs() + state() + output + "}"), "has no rec.update");
  expect_contains(error_of(header() + inputs() + state() + update + update + output + "}"),
                  "test.mlir:9: 'rec.update' op is the second rec.update");
  expect_contains(error_of(header() + inputs() + state() + update + "}"), "has no rec.output");
}

TEST(Module, HoldsOneRecurrence) {
  expect_contains(error_of(""), "holds 0 operations; expected one rec.recurrence");
  expect_contains(error_of(with("") + header("second") + inputs() + state() + ending()),
                  "test.mlir:11: the module holds 2 operations");
  expect_contains(error_of("module {} "), "expected one rec.recurrence");
  expect_contains(error_of("%x = rec.input \"x\" dim K : tensor<64xf32>"), "expects parent op 'rec.recurrence'");
}

TEST(Module, HoldsNoNestedRecurrence) {
  std::string inner = with("");
  for (std::size_t at = 0; (at = inner.find('%', at)) != inner.npos; at += 2) inner.insert(at + 1, "i");
  expect_contains(error_of(with(inner)), "test.mlir:8: 'rec.recurrence' op symbol's parent");
}

}  // namespace
}  // namespace wkvc::test
