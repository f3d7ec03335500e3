#include "codegen/missing_range.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "codegen/chunk/ChunkBuilder.h"
#include "codegen/ir/Text.h"
#include "codegen/rec/Rec.h"
#include "codegen/reported_name.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && !llvm::is_contained(names, name)) names.push_back(name);
}

// The value's name, or what it is made of: "k·beta". `depth`: of operations to look through.
std::string described(Value x, int depth = 8) {
  Operation* op = x.getDefiningOp();
  if (!name_of(x).empty() || depth == 0 || op->getNumOperands() == 0) return name_of(x).str();
  std::string text = described(op->getOperand(0), depth - 1);
  if (!isa<chunk::MulOp>(op)) return text;
  const std::string other = described(op->getOperand(1), depth - 1);
  return text.empty() || other.empty() ? text + other : text + "·" + other;
}

bool is_rounded_to_f16(Value x) {
  return llvm::any_of(x.getUsers(), [](Operation* user) {
    auto round = dyn_cast<chunk::RoundOp>(user);
    return round && chunk::element(round.getResult()).isF16();
  });
}

// Whether f16 might not hold it. What is rounded to f16 elsewhere has a scale of its own.
bool is_unbounded(Value x) { return !bound_of(x) && !is_rounded_to_f16(x); }

// The contractions with f32 operands that f16 would do for. Those of a refused program are the same as in the plain one
// before it.
std::vector<chunk::DotOp> f32_contractions(ModuleOp module) {
  std::vector<chunk::DotOp> found;
  module.walk([&](chunk::DotOp dot) {
    auto program = dot->getParentOfType<chunk::ProgramOp>();
    if (program.getCompute() == "f16" && !program.getRefused() && chunk::element(dot.getX()).isF32())
      found.push_back(dot);
  });
  return found;
}

OwningOpRef<ModuleOp> chunk_stage(const Source& source, const Config& config, MLIRContext& context) {
  context.loadDialect<chunk::ChunkDialect>();
  return parse(lower_to(source, Stage::chunk, config), context);
}

// Calls f with each input and parameter that has no range.
template <class F>
void for_each_open(ModuleOp module, F f) {
  module.walk([&](Operation* op) {
    if (auto input = dyn_cast<rec::InputOp>(op); input && !input.getRange()) f(input);
    if (auto parameter = dyn_cast<rec::ParameterOp>(op); parameter && !parameter.getRange()) f(parameter);
  });
}

// Lines of the text by the names of what is declared in them.
std::map<std::string, unsigned> open_declarations(const Source& source) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto module = rec::parse(source.text, source.file, context);
  std::map<std::string, unsigned> lines;
  for_each_open(*module, [&](auto op) {
    auto at = op->getLoc()->template findInstanceOf<FileLineColLoc>();
    lines[op.getName().str()] = at ? at.getLine() : 0;
  });
  return lines;
}

// How many contractions take f32 operands if these were declared to lie between positive numbers, which bounds their
// reciprocals, too. As many as `otherwise` where the recurrence can't have such a range.
size_t count_with(const std::map<std::string, unsigned>& declared, const Source& source, const Config& config,
                  size_t otherwise) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto module = rec::parse(source.text, source.file, context);
  for_each_open(*module, [&](auto op) {
    if (declared.contains(op.getName().str())) op.setRange(std::array{1.0, 2.0});
  });
  try {
    return f32_contractions(*chunk_stage({Stage::rec, rec::print(*module)}, config, context)).size();
  } catch (const UserError&) {
    return otherwise;
  }
}

// Of all that have no range those without which no contraction more would be spared.
std::map<std::string, unsigned> needed_declarations(const Source& source, const Config& config, size_t count) {
  auto declared = open_declarations(source);
  const size_t fewest = count_with(declared, source, config, count);
  if (fewest >= count) return {};
  for (const auto& [name, line] : std::map(declared)) {
    auto rest = declared;
    rest.erase(name);
    if (count_with(rest, source, config, count) == fewest) declared = rest;
  }
  return declared;
}

std::string place(const Source& source, unsigned line) {
  if (line >= source.lines.size() || source.lines[line].file.empty()) return "";
  return fmt::format("{}:{}", source.lines[line].file, source.lines[line].line);
}

std::string text_of(const MissingRange::Input& input) {
  return fmt::format("{}{}", input.name, input.where.empty() ? "" : " (" + input.where + ")");
}

}  // namespace

std::optional<MissingRange> missing_range(const Source& source, const Config& config) {
  if (source.stage > Stage::chunk || is_token_kernel(source, config)) return std::nullopt;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  const auto module = chunk_stage(source, config, context);
  const std::vector<chunk::DotOp> found = f32_contractions(*module);
  if (found.empty()) return std::nullopt;
  MissingRange missing;
  for (chunk::DotOp dot : found) {
    missing.contractions.push_back(reported_name(dot.getResult()));
    for (Value x : dot->getOperands())
      if (is_unbounded(x)) add_once(missing.operands, described(x));
  }
  if (source.stage == Stage::rec)
    for (const auto& [name, line] : needed_declarations(source, config, found.size()))
      missing.inputs.push_back({name, place(source, line)});
  return missing;
}

std::string text_of(const MissingRange& missing) {
  std::string text =
      fmt::format("{} contraction{} f32 operands in place of f16, several times as slow: nothing bounds {}",
                  missing.contractions.size(), missing.contractions.size() == 1 ? " takes" : "s take",
                  fmt::join(missing.operands, ", "));
  if (missing.inputs.empty())
    return text + ". Declare what it lies between, .in(lo, hi) or in texts in [lo, hi], where it is computed";
  std::vector<std::string> inputs;
  for (const MissingRange::Input& input : missing.inputs) inputs.push_back(text_of(input));
  return fmt::format(
      "{}. Its range is known as -inf to inf: declare .in(lo, hi) on the input {}; texts say in [lo, hi]", text,
      fmt::join(inputs, ", on the input "));
}

}  // namespace wkvc
