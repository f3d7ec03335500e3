#include "codegen/emit/TokenKernel.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/TypeSwitch.h>

#include "codegen/emit/Expressions.h"
#include "codegen/emit/Identifiers.h"
#include "codegen/rec/Names.h"
#include "runtime/error.h"
#include "runtime/manifest.h"

using namespace mlir;

namespace wkvc {

namespace {

bool is_matrix(Value x) { return llvm::cast<RankedTensorType>(x.getType()).getRank() == 2; }
bool is_over(Value x, rec::Dim dim) { return !is_matrix(x) && rec::dim_of(x) == dim; }

// The operations that outputs or the next state depend on.
llvm::DenseSet<Operation*> needed(rec::RecurrenceOp recurrence) {
  llvm::DenseSet<Operation*> live;
  for (Operation& op : llvm::reverse(recurrence.getBody().front())) {
    const bool is_read = llvm::any_of(op.getUsers(), [&](Operation* user) { return live.contains(user); });
    if (isa<rec::OutputOp, rec::UpdateOp, rec::StateOp>(op) || is_read) live.insert(&op);
  }
  return live;
}

class TokenKernel {
 public:
  TokenKernel(rec::RecurrenceOp recurrence, const std::string& arch)
      : recurrence_(recurrence), live_(needed(recurrence)) {
    if (auto fault = rec::name_fault(recurrence.getSymName().str())) user_error("recurrence: {}", *fault);
    manifest_.op = recurrence.getSymName().str();
    manifest_.kernel = manifest_.op + "_forward";
    manifest_.arch = arch;
    manifest_.key_dim = static_cast<int>(recurrence.getKeyDim());
    manifest_.value_dim = static_cast<int>(recurrence.getValueDim());
    manifest_.chunk = 1;
    manifest_.warps = manifest_.value_dim / 16;
    list_tensors();
  }

  std::string run() {
    for (const char* used : {"args", "block", "row0", "token"}) names_.unique(used);
    write_header();
    indent_ = 2;
    for (size_t i = 0; i < manifest_.tensors.size(); ++i) {
      const std::string& name = manifest_.tensors[i].name;
      line("const TensorArg& {} = args.tensor[{}];", tensors_[name] = names_.unique(name + "_global"), i);
    }
    line("const int row0 = 16 * block.warp;  // first of this warp's value rows");
    write_state();
    for_each([&](rec::ParameterOp op) {
      if (live_.contains(op)) write_load(op, "load_parameter", "");
    });
    line("for (long long token = 0; token < tokens_of(args, block); ++token) {{");
    indent_ = 4;
    for (Operation& op : recurrence_.getBody().front())
      if (live_.contains(&op)) write(op);
    line("{} = {};", names_.of(recurrence_.state().getResult()), of(recurrence_.update().getNext()));
    indent_ = 2;
    line("}}");
    line("store_state({}, final_state_global, block, row0);", names_.of(recurrence_.state().getResult()));
    indent_ = 0;
    line("}}");
    return text_;
  }

 private:
  template <class F>
  void for_each(F f) {
    for (Operation& op : recurrence_.getBody().front())
      llvm::TypeSwitch<Operation*>(&op).Case(f).Default([](Operation*) {});
  }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += std::string(indent_, ' ') + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void list_tensors() {
    const auto dims = [](std::vector<std::string> outer, rec::Dim dim) {
      if (dim != rec::Dim::One) outer.push_back(rec::stringifyDim(dim).str());
      return outer;
    };
    const auto dtype = [](Value x) {
      return rec::dtype_of(llvm::cast<RankedTensorType>(x.getType()).getElementType());
    };
    auto& list = manifest_.tensors;
    for_each([&](rec::InputOp op) {
      list.push_back({op.getName().str(), Role::input, dtype(op), dims({"B", "T", "H"}, op.getDim())});
    });
    for_each([&](rec::ParameterOp op) {
      list.push_back({op.getName().str(), Role::parameter, dtype(op), dims({"H"}, op.getDim())});
    });
    for_each([&](rec::OutputOp op) {
      list.push_back(
          {op.getName().str(), Role::output, rec::dtype_of(op.getDtype()), dims({"B", "T", "H"}, op.getDim())});
    });
    list.push_back({"initial_state", Role::initial_state, DType::f32, {"B", "H", "V", "K"}});
    list.push_back({"final_state", Role::final_state, DType::f32, {"B", "H", "V", "K"}});
  }

  void write_header() {
    std::string io = "f32";
    for_each([&](rec::OutputOp op) { io = name_of(rec::dtype_of(op.getDtype())); });
    manifest_.config =
        fmt::format("head {}x{} chunk 1 io {} mma f32 state f32", manifest_.key_dim, manifest_.value_dim, io);
    line("// {}: emitted by wkvc from its recurrence.\n//   {}, {}", manifest_.kernel, manifest_.config,
         manifest_.arch);
    line("//   launch: one block of {} warps for each of the B·H heads\n//", manifest_.warps);
    text_ += to_line(manifest_);
    text_ += "#include \"wkvc/tile.h\"\n\nusing namespace wkvc;\n\n";
    line("WKVC_KERNEL({}, {}, {}, 1) {{", manifest_.kernel, manifest_.tensors.size(), manifest_.warps);
  }

  void write_state() {
    rec::StateOp state = recurrence_.state();
    const std::string& name = names_.declare(state.getResult(), state.getName());
    line("auto {} = zeros<16, {}>();", name, manifest_.key_dim);
    line("load_state({}, initial_state_global, block, row0);", name);
  }

  // "RowVec<64>" over keys, "ColVec<16>" over the warp's values.
  std::string vector_type(rec::Dim dim) const {
    return dim == rec::Dim::K ? fmt::format("RowVec<{}>", manifest_.key_dim) : "ColVec<16>";
  }

  template <class Op>
  void write_load(Op op, const char* function, const std::string& token) {
    const std::string dtype(name_of(rec::dtype_of(llvm::cast<RankedTensorType>(op.getType()).getElementType())));
    const std::string from = fmt::format("{}, block{}", tensors_[op.getName().str()], token);
    const std::string& name = names_.declare(op, op.getName());
    if (op.getDim() == rec::Dim::One)
      line("const float {} = {}_number<{}>({});", name, function, dtype, from);
    else
      line("const auto {} = {}<{}, {}>({}, {});", name, function, dtype, vector_type(op.getDim()), from,
           op.getDim() == rec::Dim::V ? "row0" : "0");
  }

  void write(Operation& op) {
    llvm::TypeSwitch<Operation*>(&op)
        .Case([&](rec::InputOp input) { write_load(input, "load_token", ", token"); })
        .Case([&](rec::OutputOp output) { write_output(output); })
        .Case<rec::ParameterOp, rec::StateOp, rec::UpdateOp>([](auto) {})
        .Default([&](Operation* value) { write_value(value); });
  }

  // Every warp has the values over keys and the numbers; the first one stores them.
  void write_output(rec::OutputOp op) {
    const bool own = op.getDim() == rec::Dim::V;
    const char* first = own ? "row0, " : op.getDim() == rec::Dim::K ? "0, " : "";
    line("{}store_token<{}>({}, block, token, {}{});", own ? "" : "if (block.warp == 0) ",
         name_of(rec::dtype_of(op.getDtype())), tensors_[op.getName().str()], first, of(op.getValue()));
  }

  static bool is_same_value(Operation* op) { return isa<rec::CastOp, rec::AssumeOp>(op); }

  // Values without a name that are read once stand where they are read.
  static bool is_inlined(Operation* op) { return !op->getAttr("name") && op->hasOneUse(); }

  void write_value(Operation* op) {
    if (is_same_value(op) || is_inlined(op)) return;
    auto name = op->getAttrOfType<StringAttr>("name");
    const std::string value = expression(op, kAny);
    line("const auto {} = {};", names_.declare(op->getResult(0), name ? name.getValue() : "t"), value);
  }

  // How tightly an operator binds, and what surrounds an expression.
  enum Binding { kAny, kSum, kProduct, kOperand };

  // A variable, or an expression in parentheses if it binds less tightly than what surrounds it.
  std::string of(Value x, Binding around = kAny) {
    Operation* op = x.getDefiningOp();
    if (is_same_value(op)) return of(op->getOperand(0), around);
    if (isa<rec::InputOp, rec::ParameterOp, rec::StateOp>(op) || !is_inlined(op)) return names_.of(x);
    return expression(op, around);
  }

  std::string infix(Operation* op, const char* symbol, Binding own, Binding around) {
    const auto right = static_cast<Binding>(own + 1);
    const std::string text = fmt::format("{} {} {}", of(op->getOperand(0), own), symbol, of(op->getOperand(1), right));
    return own < around ? "(" + text + ")" : text;
  }

  std::string unary(Operation* op) {
    const char* space = is_over(op->getResult(0), rec::Dim::One) ? "scalar::" : "";
    return fmt::format("{}{}({})", space, op->getName().stripDialect().str(), of(op->getOperand(0)));
  }

  // One number in all elements.
  std::string filled(Value vector, const std::string& number) {
    const rec::Dim dim = *rec::dim_of(vector);
    return dim == rec::Dim::One ? number : fmt::format("filled<{}>({})", vector_type(dim), number);
  }

  std::string dot(rec::DotOp op) {
    if (!is_matrix(op.getLhs()) && is_over(op.getLhs(), rec::Dim::V))
      user_error(
          "'{}': a dot of two V vectors sums over the rows of all warps, which a kernel of single tokens (--chunk 1) "
          "does not support; leave --chunk out",
          manifest_.op);
    return fmt::format("dot({}, {})", of(op.getLhs()), of(op.getRhs()));
  }

  std::string expression(Operation* op, Binding around) {
    return llvm::TypeSwitch<Operation*, std::string>(op)
        .Case([&](rec::ConstantOp x) { return filled(x, float_text(x.getValue())); })
        .Case([&](rec::BroadcastOp x) { return filled(x, of(x.getScalar())); })
        .Case([&](rec::NegOp x) {
          return around > kAny ? "(-" + of(x.getOperand(), kOperand) + ")" : "-" + of(x.getOperand(), kOperand);
        })
        .Case<rec::ExpOp, rec::LogOp, rec::SigmoidOp, rec::TanhOp, rec::SoftplusOp, rec::ReluOp, rec::SqrtOp,
              rec::ReciprocalOp>([&](auto x) { return unary(x); })
        .Case([&](rec::AddOp x) { return infix(x, "+", kSum, around); })
        .Case([&](rec::SubOp x) { return infix(x, "-", kSum, around); })
        .Case<rec::MulOp, rec::ScaleOp, rec::DiagMulOp>([&](auto x) { return infix(x, "*", kProduct, around); })
        .Case([&](rec::DotOp x) { return dot(x); })
        .Case([&](rec::OuterOp x) { return fmt::format("outer({}, {})", of(x.getColumn()), of(x.getRow())); })
        .Default(
            [](Operation* x) -> std::string { internal_error("no text for '{}'", x->getName().getStringRef().str()); });
  }

  rec::RecurrenceOp recurrence_;
  llvm::DenseSet<Operation*> live_;
  Manifest manifest_;
  Identifiers names_;
  std::map<std::string, std::string> tensors_;  // name → variable
  std::string text_;
  int indent_ = 0;
};

}  // namespace

std::string emit_token_kernel(rec::RecurrenceOp recurrence, const std::string& arch) {
  return TokenKernel(recurrence, arch).run();
}

}  // namespace wkvc
