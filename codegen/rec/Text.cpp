// Text of the rec dialect: parsing, printing, and diagnostics as exceptions.
#include "codegen/ir/Scan.h"
#include "codegen/ir/Where.h"
#include "codegen/rec/Rec.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

namespace wkvc::rec {
namespace {

// Collects what MLIR reports while it lives.
class Errors {
 public:
  explicit Errors(mlir::MLIRContext& context)
      : handler_(&context, [this](mlir::Diagnostic& diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) return;
          if (!text_.empty()) text_ += '\n';
          text_ += where(diagnostic.getLocation()) + diagnostic.str();
        }) {}

  [[noreturn]] void raise() const { throw UserError(text_); }

 private:
  std::string text_;
  mlir::ScopedDiagnosticHandler handler_;
};

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> parse(std::string_view text, std::string_view file, mlir::MLIRContext& context) {
  context.loadDialect<RecDialect>();
  check_parsable(text, file);
  Errors errors(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, file);
  if (!module) errors.raise();
  recurrence_of(*module);
  return module;
}

std::string print(mlir::ModuleOp module, mlir::AsmState::LocationMap* lines) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::AsmState state(recurrence_of(module), mlir::OpPrintingFlags(), lines);
  recurrence_of(module).getOperation()->print(stream, state);
  return text + "\n";
}

void verify(mlir::ModuleOp module) {
  Errors errors(*module.getContext());
  if (llvm::failed(mlir::verify(module))) errors.raise();
}

RecurrenceOp recurrence_of(mlir::ModuleOp module) {
  auto& ops = module.getBody()->getOperations();
  if (ops.size() != 1)
    user_error_at(ops.empty() ? module.getOperation() : &*std::next(ops.begin()),
                  "the module holds {} operations; expected one rec.recurrence", ops.size());
  if (auto recurrence = llvm::dyn_cast<RecurrenceOp>(module.getBody()->front())) return recurrence;
  user_error_at(&module.getBody()->front(), "the module holds '{}'; expected one rec.recurrence",
                module.getBody()->front().getName().getStringRef().str());
}

}  // namespace wkvc::rec
