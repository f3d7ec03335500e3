#include "codegen/ir/DerivedNames.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <vector>

namespace wkvc {

namespace {

constexpr size_t kLongest = 32;

struct Affixes {
  const char* prefix;
  const char* suffix;
};

// Of functions of one value.
Affixes affixes_of(llvm::StringRef function) {
  return llvm::StringSwitch<Affixes>(function)
      .Cases({"widen", "widen_fitted", "round", "mul_constant"}, {"", ""})
      .Case("add_constant", {"", "_shifted"})
      .Case("neg", {"minus_", ""})
      .Cases({"tril", "tril_strict"}, {"", "_lower"})
      .Cases({"keep_valid", "keep_valid_columns"}, {"", "_valid"})
      .Cases({"sum_rows", "sum_columns"}, {"", "_sum"})
      .Case("cumsum", {"", "_running"})
      .Case("reverse_cumsum", {"", "_following"})
      .Case("level_pairs", {"", "_level"})
      .Case("last_of_other_half", {"", "_other"})
      .Case("sum_of_other_half", {"", "_others"})
      .Case("upper_rows", {"", "_upper"})
      .Case("lower_rows", {"", "_behind"})
      .Case("zero_if_nan", {"", "_finite"})
      .Case("diagonal_column", {"", "_diagonal"})
      .Cases({"row", "at_row"}, {"", "_row"})
      .Case("times_unit", {"", "_times_unit"})
      .Case("over_unit", {"", "_over_unit"})
      .Case("plus_exponent", {"", "_in_unit"})
      .Case("round_beside", {"", "_beside"})
      .Default({nullptr, ""});
}

const char* between(llvm::StringRef function) {
  return llvm::StringSwitch<const char*>(function)
      .Case("add", "_plus_")
      .Case("sub", "_minus_")
      .Case("column_dots", "_dots_")
      .Default("_");
}

}  // namespace

llvm::StringRef without_storage(llvm::StringRef name) {
  for (llvm::StringRef suffix : {"_shared", "_columns", "_f16", "_bf16", "_f32"})
    if (name.size() > suffix.size()) name.consume_back(suffix);
  return name;
}

std::string derived_name(llvm::StringRef function, llvm::ArrayRef<std::string> operands, int64_t half) {
  std::vector<std::string> named;
  for (const std::string& operand : operands)
    if (!operand.empty()) named.push_back(without_storage(operand).str());
  if (named.empty()) return "";
  std::string name;
  if (named.size() == 1) {
    const auto [prefix, suffix] = affixes_of(function);
    const std::string level = half ? std::to_string(half) : "";
    name = prefix                 ? prefix + named[0] + suffix + level
           : operands.size() == 1 ? function.str() + "_" + named[0]
                                  : named[0];
  } else {
    name = llvm::join(named, between(function));
  }
  if (name.size() <= kLongest) return name;
  llvm::StringRef whole = named[0];
  whole.consume_back("_part");
  return (whole + "_part").str();
}

}  // namespace wkvc
