#include "codegen/emit/TokenKernel.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/TypeSwitch.h>

#include <algorithm>
#include <utility>

#include "codegen/chunk/SharedInputs.h"
#include "codegen/config/config.h"
#include "codegen/emit/Expressions.h"
#include "codegen/emit/Header.h"
#include "codegen/emit/Identifiers.h"
#include "codegen/rec/Names.h"
#include "codegen/target/Target.h"
#include "runtime/error.h"
#include "runtime/manifest/manifest.h"

using namespace mlir;

namespace wkvc {

namespace {

bool is_over(Value x, rec::Dim dim) { return !rec::is_matrix(x) && rec::dim_of(x) == dim; }

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
  TokenKernel(rec::RecurrenceOp recurrence, const Config& config)
      : recurrence_(recurrence), config_(config), live_(needed(recurrence)) {
    expect_inputs(recurrence, config.shared);
    if (auto fault = rec::name_fault(recurrence.getSymName().str())) user_error("recurrence: {}", *fault);
    const std::string op = recurrence.getSymName().str();
    manifest_ = emitted_manifest(op, op + "_forward", config.arch);
    manifest_.key_dim = static_cast<int>(recurrence.getKeyDim());
    manifest_.value_dim = static_cast<int>(recurrence.getValueDim());
    manifest_.chunk = 1;
    manifest_.states_every = config.states_every;
    manifest_.warps = manifest_.value_dim / 16;
    list_tensors();
  }

  std::string run() {
    for (const char* used : {"args", "block", "row0", "token", "tokens", "more"}) names_.unique(used);
    write_header();
    indent_ = 2;
    for (size_t i = 0; i < manifest_.tensors.size(); ++i) {
      const std::string& name = manifest_.tensors[i].name;
      line("const TensorArg& {} = args.tensor[{}];", tensors_[name] = names_.unique(name + "_global"), i);
    }
    line("const int row0 = 16 * block.warp;  // first of this warp's value rows");
    write_state();
    for_each([&](rec::ParameterOp op) {
      if (live_.contains(op)) write_parameter(op);
    });
    line("const long long tokens = tokens_of(args, block);");
    for_each([&](rec::InputOp op) {
      if (live_.contains(op)) list_fetch(op);
    });
    for (const Fetch& fetch : fetches_) write_fetch(fetch);
    for_each([&](rec::OutputOp op) { write_rows(op); });
    line("for (long long token = 0; token < tokens; ++token) {{");
    indent_ = 4;
    line("const bool more = token + 1 < tokens;");
    for (const Fetch& fetch : fetches_) line("const auto {} = {}.take(more);", fetch.name, fetch.rows);
    for (Operation& op : recurrence_.getBody().front())
      if (live_.contains(&op)) write(op);
    const std::string& state = names_.of(recurrence_.state().getResult());
    line("{} = {};", state, of(recurrence_.update().getNext()));
    if (manifest_.states_every > 0)
      line("store_intermediate_state{}({}, intermediate_states_global, args, block, token + 1, row0);",
           intermediate_stored_as(tensor("intermediate_states"), manifest_), state);
    indent_ = 2;
    line("}}");
    line("store_state{}({}, final_state_global, block, row0);", stored_as(tensor("final_state")), state);
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

  const TensorSpec& tensor(const char* name) const {
    return *llvm::find_if(manifest_.tensors, [&](const TensorSpec& spec) { return spec.name == name; });
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
      const char* heads = llvm::is_contained(config_.shared, op.getName().str()) ? "S" : "H";
      list.push_back({op.getName().str(), Role::input, dtype(op), dims({"B", "T", heads}, op.getDim())});
    });
    for_each([&](rec::ParameterOp op) {
      list.push_back({op.getName().str(), Role::parameter, dtype(op), dims({"H"}, op.getDim())});
    });
    for_each([&](rec::OutputOp op) {
      list.push_back(
          {op.getName().str(), Role::output, rec::dtype_of(op.getDtype()), dims({"B", "T", "H"}, op.getDim())});
    });
    const DType stored = config_.state.empty() ? DType::f32 : *dtype_from(config_.state);
    const bool keys_first = config_.state_layout == "kv";
    const std::vector<std::string> state{"B", "H", keys_first ? "K" : "V", keys_first ? "V" : "K"};
    list.push_back({"initial_state", Role::initial_state, stored, state});
    list.push_back({"final_state", Role::final_state, stored, state});
    if (config_.states_every > 0)
      list.push_back({"intermediate_states", Role::intermediate_states, stored, {"B", "M", "H", state[2], state[3]}});
  }

  void write_header() {
    manifest_.config = fmt::format("head {}x{} chunk 1 io {} mma f32 state {}", manifest_.key_dim, manifest_.value_dim,
                                   io_of(manifest_), state_of(manifest_));
    line("// {}: emitted by wkvc from its recurrence.\n//   {}, {}", manifest_.kernel, manifest_.config,
         manifest_.arch);
    line("//   launch: one block of {} warps for each of the B·H heads\n//", manifest_.warps);
    text_ += to_line(manifest_);
    text_ += "#include \"wkvc/tile.h\"\n\nusing namespace wkvc;\n\n";
    line("WKVC_KERNEL({}, {}, {}, {}) {{", manifest_.kernel, manifest_.tensors.size(), manifest_.warps, blocks());
  }

  // Returns the blocks that a multiprocessor is to hold, which bounds registers: 12 a thread for every 16 keys hold the
  // state, a token and the inputs of the next one.
  int blocks() const {
    if (config_.blocks > 0) return config_.blocks;
    const int registers = std::min(sm_90a.warp.registers, 32 + 12 * manifest_.key_dim / 16);
    const std::int64_t fitting = sm_90a.sm.registers / (sm_90a.warp.threads * manifest_.warps * registers);
    return static_cast<int>(std::clamp<std::int64_t>(fitting, 1, sm_90a.sm.blocks));
  }

  void write_state() {
    rec::StateOp state = recurrence_.state();
    const std::string& name = names_.declare(state.getResult(), state.getName());
    line("TokenState<{}> {};", manifest_.key_dim, name);
    line("load_state{}({}, initial_state_global, block, row0);", stored_as(tensor("initial_state")), name);
  }

  // "KeyVec<64>" over keys, "ValueVec" over the warp's values, or "float".
  std::string type_over(rec::Dim dim) const {
    if (dim == rec::Dim::One) return "float";
    return dim == rec::Dim::K ? fmt::format("KeyVec<{}>", manifest_.key_dim) : "ValueVec";
  }

  template <class Op>
  static std::string dtype_of(Op op) {
    return std::string(name_of(rec::dtype_of(llvm::cast<RankedTensorType>(op.getType()).getElementType())));
  }
  static const char* first_of(rec::Dim dim) { return dim == rec::Dim::V ? "row0" : "0"; }

  void write_parameter(rec::ParameterOp op) {
    const std::string dtype = dtype_of(op), from = tensors_[op.getName().str()] + ", block";
    if (op.getDim() == rec::Dim::One)
      return line("const float {} = load_parameter_number<{}>({});", names_.declare(op, op.getName()), dtype, from);
    line("const auto {} = load_parameter<{}, {}>({}, {});", names_.declare(op, op.getName()), dtype,
         type_over(op.getDim()), from, first_of(op.getDim()));
  }

  // An input, token after token.
  struct Fetch {
    std::string name, rows;  // variables of a token's value and of the input's rows
    std::string tensor, dtype;
    std::string type;  // of a value
    rec::Dim dim;
  };

  void list_fetch(rec::InputOp op) {
    const std::string& name = names_.declare(op, op.getName());
    fetches_.push_back({name, names_.unique(name + "_rows"), tensors_[op.getName().str()], dtype_of(op),
                        type_over(op.getDim()), op.getDim()});
  }

  // Registers of wide heads have no room for another token.
  bool fetches_ahead() const { return manifest_.key_dim <= 128; }

  void write_fetch(const Fetch& fetch) {
    line("TokenInput<{}, {}{}> {}({}, block, tokens > 0{});", fetch.dtype, fetch.type, fetches_ahead() ? "" : ", false",
         fetch.rows, fetch.tensor, fetch.dim == rec::Dim::V ? ", row0" : "");
  }

  void write(Operation& op) {
    llvm::TypeSwitch<Operation*>(&op)
        .Case([&](rec::OutputOp output) { write_output(output); })
        .Case<rec::InputOp, rec::ParameterOp, rec::StateOp, rec::UpdateOp>([](auto) {})
        .Default([&](Operation* value) { write_value(value); });
  }

  void write_rows(rec::OutputOp op) {
    const std::string& rows = output_rows_[op.getName().str()] = names_.unique(op.getName().str() + "_rows");
    line("TokenOutput<{}> {}({}, block{});", name_of(rec::dtype_of(op.getDtype())), rows, tensors_[op.getName().str()],
         op.getDim() == rec::Dim::V ? ", row0" : "");
  }

  // Every warp has the values over keys and the numbers; the first one stores them.
  void write_output(rec::OutputOp op) {
    line("{}.put({}{});", output_rows_.at(op.getName().str()), of(op.getValue()),
         op.getDim() == rec::Dim::V ? "" : ", block.warp == 0");
  }

  static bool is_same_value(Operation* op) { return isa<rec::CastOp, rec::AssumeOp>(op); }

  // Values without a name that are read once stand where they are read.
  static bool is_inlined(Operation* op) { return !op->getAttr("name") && op->hasOneUse(); }

  void write_value(Operation* op) {
    if (is_same_value(op) || is_inlined(op)) return;
    auto attribute = op->getAttrOfType<StringAttr>("name");
    const llvm::StringRef name = attribute ? attribute.getValue() : "t";
    const std::string value = expression(op, kAny);
    line("const auto {} = {};", names_.declare(op->getResult(0), name), value);
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
    if (dim == rec::Dim::One) return number;
    return fmt::format("filled<{}>({})", type_over(dim), number);
  }

  std::string dot(rec::DotOp op) {
    if (!rec::is_matrix(op.getLhs()) && is_over(op.getLhs(), rec::Dim::V))
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
  const Config& config_;
  llvm::DenseSet<Operation*> live_;
  Manifest manifest_;
  Identifiers names_;
  std::map<std::string, std::string> tensors_, output_rows_;  // name → variable
  std::vector<Fetch> fetches_;
  std::string text_;
  int indent_ = 0;
};

}  // namespace

std::string emit_token_kernel(rec::RecurrenceOp recurrence, const Config& config) {
  return TokenKernel(recurrence, config).run();
}

}  // namespace wkvc
