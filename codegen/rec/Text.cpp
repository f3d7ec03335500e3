// Text of the rec dialect: parsing, printing, and diagnostics as exceptions.
#include "codegen/ir/Scan.h"
#include "codegen/rec/Rec.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "runtime/error.h"

namespace wkvc::rec {
namespace {

std::string where(mlir::Location location) {
  if (auto at = llvm::dyn_cast<mlir::FileLineColLoc>(location))
    return fmt::format("{}:{}: ", at.getFilename().str(), at.getLine());
  return "";
}

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

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  recurrence_of(module).getOperation()->print(stream);
  return text + "\n";
}

void verify(mlir::ModuleOp module) {
  Errors errors(*module.getContext());
  if (llvm::failed(mlir::verify(module))) errors.raise();
}

RecurrenceOp recurrence_of(mlir::ModuleOp module) {
  const auto& ops = module.getBody()->getOperations();
  if (ops.size() != 1)
    user_error("{}the module holds {} operations; expected one rec.recurrence", where(module.getLoc()), ops.size());
  if (auto recurrence = llvm::dyn_cast<RecurrenceOp>(module.getBody()->front())) return recurrence;
  user_error("{}the module holds '{}'; expected one rec.recurrence", where(module.getBody()->front().getLoc()),
             module.getBody()->front().getName().getStringRef().str());
}

}  // namespace wkvc::rec
