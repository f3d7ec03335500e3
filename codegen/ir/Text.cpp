#include "codegen/ir/Text.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Support/SourceMgr.h>
#include <mlir/AsmParser/AsmParser.h>
#include <mlir/AsmParser/AsmParserState.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/Verifier.h>

#include <vector>

#include "codegen/ir/Scan.h"
#include "codegen/ir/TermTypes.h"
#include "codegen/ir/Where.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

void set_name(Value value, llvm::StringRef name) {
  Location at = value.getLoc();
  if (auto named = llvm::dyn_cast<NameLoc>(at)) at = named.getChildLoc();
  value.setLoc(NameLoc::get(StringAttr::get(value.getContext(), name), at));
}

llvm::StringRef name_of(Value value) {
  if (auto loc = llvm::dyn_cast<NameLoc>(value.getLoc())) return loc.getName().getValue();
  return {};
}

namespace {

// Names that are seen from a region: its own and those of the regions around it.
class VisibleNames {
 public:
  // Regions beside each other may have the same names.
  void visit(Region& region) {
    std::vector<std::string> own;
    for (Block& block : region) {
      for (Value argument : block.getArguments()) make_unique(argument, own);
      for (Operation& op : block)
        for (Value result : op.getResults()) make_unique(result, own);
    }
    for (Block& block : region)
      for (Operation& op : block)
        for (Region& inside : op.getRegions()) visit(inside);
    for (const std::string& name : own) taken_.erase(name);
  }

 private:
  void make_unique(Value value, std::vector<std::string>& own) {
    const llvm::StringRef name = name_of(value);
    if (name.empty()) return;
    std::string candidate = name.str();
    for (int i = 2; !taken_.insert(candidate).second; ++i) candidate = fmt::format("{}_{}", name.str(), i);
    own.push_back(candidate);
    if (candidate != name) set_name(value, candidate);
  }

  llvm::StringSet<> taken_;
};

}  // namespace

void make_names_unique(Operation* root) {
  for (Region& region : root->getRegions()) VisibleNames().visit(region);
}

std::string print(Operation* op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  op->print(out, OpPrintingFlags().printNameLocAsPrefix());
  out << "\n";
  return text;
}

std::string dtype_text(Type element) {
  if (isa<Bf16x3Type>(element)) return Bf16x3Type::word.str();
  if (isa<F16x2Type>(element)) return F16x2Type::word.str();
  if (isa<LowerF16x2Type>(element)) return LowerF16x2Type::word.str();
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return text;
}

namespace {

// What the value is called where the text defines it; numbers are no names.
void restore_name(Value value, SMRange range) {
  llvm::StringRef name(range.Start.getPointer(), range.End.getPointer() - range.Start.getPointer());
  name.consume_front("%");
  bool is_number = name.find_first_not_of("0123456789") == llvm::StringRef::npos;
  if (!is_number)
    value.setLoc(NameLoc::get(StringAttr::get(value.getContext(), name), value.getLoc()));  // with its line
}

// The parser forgets what values were called; its record of definitions still points into the text.
void restore_names(const AsmParserState& state) {
  for (const auto& definition : state.getOpDefs())
    for (const auto& group : definition.resultGroups)
      restore_name(definition.op->getResult(group.startIndex), group.definition.loc);
  for (const auto& definition : state.getBlockDefs())
    for (size_t i = 0; i < definition.arguments.size(); ++i)
      restore_name(definition.block->getArgument(i), definition.arguments[i].loc);
}

std::string describe(const Diagnostic& diagnostic) {
  std::string text = where(diagnostic.getLocation()) + diagnostic.str();
  for (const Diagnostic& note : diagnostic.getNotes()) text += "\n  " + where(note.getLocation()) + note.str();
  return text;
}

}  // namespace

OwningOpRef<ModuleOp> parse(std::string_view text, MLIRContext& context) {
  check_parsable(text);
  context.printOpOnDiagnostic(false);  // the line is enough
  std::string first_error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic& diagnostic) {
    if (first_error.empty()) first_error = describe(diagnostic);
    return success();
  });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text.data(), text.size())), {});
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  AsmParserState state;
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  const bool parsed = succeeded(parseAsmSourceFile(sources, module->getBody(), config, &state));
  if (parsed) restore_names(state);  // which messages of the verifier name
  if (!parsed || failed(verify(*module))) user_error("this text is not a stage wkvc can read: {}", first_error);
  return module;
}

}  // namespace wkvc
