#include "codegen/emit/TokenExpressions.h"

#include <llvm/ADT/TypeSwitch.h>

#include "codegen/emit/Expressions.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

static bool is_over(Value x, rec::Dim dim) { return !rec::is_matrix(x) && rec::dim_of(x) == dim; }

static bool is_same_value(Operation* op) { return isa<rec::CastOp, rec::AssumeOp>(op); }

// Values without a name that are read once stand where they are read.
static bool is_read_in_place(Operation* op) { return !op->getAttr("name") && op->hasOneUse(); }

bool has_variable(Operation* op) {
  return isa<rec::InputOp, rec::ParameterOp, rec::StateOp>(op) || (!is_same_value(op) && !is_read_in_place(op));
}

std::string TokenExpressions::type_over(rec::Dim dim) const {
  if (dim == rec::Dim::One) return "float";
  return dim == rec::Dim::K ? fmt::format("KeyVec<{}>", keys_) : "ValueVec";
}

std::string TokenExpressions::within(Value x, Binding around) const {
  Operation* op = x.getDefiningOp();
  if (is_same_value(op)) return within(op->getOperand(0), around);
  return has_variable(op) ? names_.of(x) : expression(op, around);
}

std::string TokenExpressions::infix(Operation* op, const char* symbol, Binding own, Binding around) const {
  const Binding right = own == Binding::sum ? Binding::product : Binding::operand;
  return in_parentheses(
      fmt::format("{} {} {}", within(op->getOperand(0), own), symbol, within(op->getOperand(1), right)), own, around);
}

std::string TokenExpressions::unary(Operation* op) const {
  const char* space = is_over(op->getResult(0), rec::Dim::One) ? "scalar::" : "";
  return fmt::format("{}{}({})", space, op->getName().stripDialect().str(), of(op->getOperand(0)));
}

// Returns a vector that has one number in all elements.
std::string TokenExpressions::filled(Value vector, const std::string& number) const {
  const rec::Dim dim = *rec::dim_of(vector);
  return dim == rec::Dim::One ? number : fmt::format("filled<{}>({})", type_over(dim), number);
}

std::string TokenExpressions::dot(rec::DotOp op) const {
  if (!rec::is_matrix(op.getLhs()) && is_over(op.getLhs(), rec::Dim::V))
    user_error(
        "'{}': a dot of two V vectors sums over the rows of all warps, which a kernel of single tokens (--chunk 1) "
        "does not support; leave --chunk out",
        op->getParentOfType<rec::RecurrenceOp>().getSymName().str());
  return fmt::format("dot({}, {})", of(op.getLhs()), of(op.getRhs()));
}

std::string TokenExpressions::expression(Operation* op, Binding around) const {
  return llvm::TypeSwitch<Operation*, std::string>(op)
      .Case([&](rec::ConstantOp x) { return filled(x, float_text(x.getValue())); })
      .Case([&](rec::BroadcastOp x) { return filled(x, of(x.getScalar())); })
      .Case([&](rec::NegOp x) {
        return in_parentheses("-" + within(x.getOperand(), Binding::operand), Binding::any, around);
      })
      .Case<rec::ExpOp, rec::LogOp, rec::SigmoidOp, rec::TanhOp, rec::SoftplusOp, rec::ReluOp, rec::SqrtOp,
            rec::ReciprocalOp>([&](auto x) { return unary(x); })
      .Case([&](rec::AddOp x) { return infix(x, "+", Binding::sum, around); })
      .Case([&](rec::SubOp x) { return infix(x, "-", Binding::sum, around); })
      .Case<rec::MulOp, rec::ScaleOp, rec::DiagMulOp>([&](auto x) { return infix(x, "*", Binding::product, around); })
      .Case([&](rec::DotOp x) { return dot(x); })
      .Case([&](rec::OuterOp x) { return fmt::format("outer({}, {})", of(x.getColumn()), of(x.getRow())); })
      .Default(
          [](Operation* x) -> std::string { internal_error("no text for '{}'", x->getName().getStringRef().str()); });
}

}  // namespace wkvc
