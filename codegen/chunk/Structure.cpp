// What a chunk program holds as a whole: sizes that follow from its attributes, one state, one update, usable names.
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringMap.h>

#include "codegen/chunk/Chunk.h"
#include "codegen/rec/Limits.h"
#include "codegen/rec/Names.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc::chunk {

namespace {

// More than any recurrence comes to; what goes on from here recurses along chains of operations.

using rec::signed_value;

LogicalResult verify_extent(ProgramOp program, const char* what, int64_t extent) {
  if (rec::is_extent(extent)) return success();
  return program.emitOpError() << what << " is " << extent << "; expected " << rec::extents_text;
}

class Structure {
 public:
  explicit Structure(ProgramOp program)
      : C_(signed_value(program.getChunk())),
        K_(signed_value(program.getKeyDim())),
        V_(signed_value(program.getValueDim())),
        backward_(program.getBackward()),
        summary_(program.getSummary().has_value()) {}

  LogicalResult verify(Operation& op) {
    if (!isa_and_nonnull<ChunkDialect>(op.getDialect())) return op.emitOpError("does not belong in a chunk.program");
    if (isa<ProgramOp>(op)) return op.emitOpError("can't be inside another chunk.program");
    if (!backward_ && isa<SavedStateOp, UpdateSavedOp, AccumulateOp>(op))
      return op.emitOpError("belongs in a backward program");
    if (summary_ && isa<OutputOp, AccumulateOp, SavedStateOp, UpdateSavedOp>(op))
      return op.emitOpError("does not belong in a summary, which gives the state alone");
    if (!summary_ && isa<OffsetOp>(op)) return op.emitOpError("belongs in a summary");
    for (Value result : op.getResults())
      if (failed(verify_type(op, cast<RankedTensorType>(result.getType())))) return failure();
    if (failed(verify_shape(op))) return failure();
    return verify_name(op);
  }

  // Scales are taken from inputs and states of this program. After all operations have been visited.
  LogicalResult verify_bounds(ProgramOp program) const {
    for (auto round : program.getBody().getOps<RoundOp>()) {
      for (const auto& product : products(round))
        for (llvm::StringRef name : product)
          if (!has_maximum(names_.lookup(name)))
            return round.emitOpError() << "takes its scale from \"" << name
                                       << "\", which is no input over keys or values and no state";
    }
    return success();
  }

  // Inputs whose size a plain program depends on are its own. After all operations have been visited.
  LogicalResult verify_plain(ProgramOp program) const {
    if (!program.getPlain()) return success();
    for (auto name : program.getPlain()->getAsValueRange<StringAttr>())
      if (!isa_and_nonnull<InputOp>(names_.lookup(name)))
        return program.emitOpError() << "expects \"" << name << "\" to be of ordinary size, which is no input of it";
    for (auto round : program.getBody().getOps<RoundOp>())
      if (round.getBound()) return round.emitOpError("has a scale in a plain program");
    return success();
  }

  static bool has_maximum(Operation* op) {
    if (auto input = dyn_cast_or_null<InputOp>(op)) return columns(input.getResult()) > 1;
    return isa_and_nonnull<StateOp, SavedStateOp>(op);
  }

 private:
  LogicalResult verify_type(Operation& op, RankedTensorType type) const {
    if (type.getEncoding()) return op.emitOpError() << type << " has an encoding; expected a plain tensor";
    for (int64_t size : type.getShape())
      if (size != 1 && size != C_ && size != K_ && size != V_)
        return op.emitOpError() << "has the type " << type << "; sizes here are 1, " << C_ << " tokens, " << K_
                                << " keys and " << V_ << " values";
    return success();
  }

  static LogicalResult expect(Operation& op, Value x, int64_t r, int64_t c) {
    if (rows(x) == r && columns(x) == c) return success();
    return op.emitOpError() << "is " << x.getType() << "; expected " << r << "x" << c;
  }

  LogicalResult expect_vector(Operation& op, llvm::StringRef dim, Value x, int64_t r) const {
    int64_t size = dim == "K" ? K_ : dim == "V" ? V_ : dim == "1" ? 1 : 0;
    if (size == 0) return op.emitOpError() << "has the dim \"" << dim << "\"; expected \"K\", \"V\" or \"1\"";
    return expect(op, x, r, size);
  }

  LogicalResult expect_kept(InputOp op) const {
    if (op.getDim() == "T") return expect(*op, op.getResult(), C_, C_);
    return op.emitOpError() << "has the dim \"" << op.getDim() << "\"; expected \"T\"";
  }

  LogicalResult expect_tokens(Operation& op, Value x) const {
    if (rows(x) == C_) return success();
    return op.emitOpError() << "is " << x.getType() << "; expected a row for each of the " << C_ << " tokens";
  }

  LogicalResult verify_shape(Operation& op) const {
    if (auto input = dyn_cast<InputOp>(op); input && input.getKept()) return expect_kept(input);
    if (auto input = dyn_cast<InputOp>(op)) return expect_vector(op, input.getDim(), input.getResult(), C_);
    if (auto parameter = dyn_cast<ParameterOp>(op)) return expect_vector(op, parameter.getDim(), parameter, 1);
    if (auto constant = dyn_cast<ConstantOp>(op)) return verify_constant(constant);
    if (isa<StateOp, SavedStateOp>(op)) return expect(op, op.getResult(0), V_, K_);
    if (auto sum = dyn_cast<AccumulateOp>(op)) return expect(op, sum.getX(), 1, columns(sum.getX()));
    if (isa<UpdateOp, UpdateSavedOp>(op)) return expect(op, op.getOperand(0), V_, K_);
    if (auto output = dyn_cast<OutputOp>(op); output && output.getKept()) return expect(op, output.getX(), C_, C_);
    if (isa<KeepValidOp, CumsumOp, OutputOp>(op)) return expect_tokens(op, op.getOperand(0));
    if (isa<TrilOp, UnitLowerInverseOp, DiagonalOp, LevelPairsOp>(op)) return expect(op, op.getOperand(0), C_, C_);
    if (isa<DiagonalDotOp, LastOfOtherHalfOp, SumOfOtherHalfOp, SelectHalvesOp, UpperRowsOp, LowerRowsOp>(op))
      return expect_tokens(op, op.getOperand(0));
    if (isa<ColumnDotsOp>(op)) return expect(op, op.getOperand(0), V_, K_);
    if (isa<AtRowOp>(op)) return expect_tokens(op, op.getResult(0));
    return success();
  }

  // A matrix of one number says what its dimensions are.
  LogicalResult verify_constant(ConstantOp op) const {
    Value x = op.getResult();
    if (!op.getDims()) return expect(*op, x, 1, 1);
    llvm::StringRef dims = *op.getDims();
    if (dims.size() != 2 || dims.find_first_not_of("TKV1") != llvm::StringRef::npos)
      return op.emitOpError() << "has the dims \"" << dims << "\"; expected two of T, K, V and 1";
    return expect(*op, x, extent(dims[0]), extent(dims[1]));
  }

  int64_t extent(char dim) const { return dim == 'T' ? C_ : dim == 'K' ? K_ : dim == 'V' ? V_ : 1; }

  LogicalResult verify_name(Operation& op) {
    auto sym = op.getAttrOfType<StringAttr>("sym");
    if (!sym) return success();
    auto gradient_of = op.getAttrOfType<StringAttr>("gradient_of");
    if (gradient_of && sym.getValue() != "d" + gradient_of.getValue().str())
      return op.emitOpError() << "the gradient of \"" << gradient_of.getValue() << "\" is called \"d"
                              << gradient_of.getValue() << "\"";
    if (auto fault = rec::name_fault((gradient_of ? gradient_of : sym).getValue())) return op.emitOpError() << *fault;
    if (names_.try_emplace(sym.getValue(), &op).second) return success();
    return op.emitOpError("the name \"") << sym.getValue() << "\" is taken";
  }

  int64_t C_, K_, V_;
  bool backward_, summary_;
  llvm::StringMap<Operation*> names_;
};

template <class Op>
LogicalResult verify_single(ProgramOp program, const char* what) {
  auto ops = program.getBody().getOps<Op>();
  auto count = std::distance(ops.begin(), ops.end());
  if (count == 1) return success();
  return program.emitOpError() << "has " << count << " " << what << "; expected exactly one";
}

bool depends_on_state(ProgramOp program, Operation* last) {
  llvm::DenseSet<Operation*> depend;
  for (Operation& op : program.getBody().front())
    if (isa<StateOp>(op) || llvm::any_of(op.getOperands(), [&](Value x) { return depend.contains(x.getDefiningOp()); }))
      depend.insert(&op);
  return depend.contains(last);
}

// What is saved is one state, and what it was after the chunk one value, which was there before its gradient.
LogicalResult verify_saved(ProgramOp program) {
  auto states = program.getBody().getOps<SavedStateOp>();
  auto updates = program.getBody().getOps<UpdateSavedOp>();
  auto saved = std::distance(states.begin(), states.end()), after = std::distance(updates.begin(), updates.end());
  for (UpdateSavedOp update : updates)
    if (depends_on_state(program, update)) return update.emitOpError("depends on the gradient of the state");
  if (saved <= 1 && after <= saved) return success();
  return program.emitOpError() << "has " << saved << " saved states and " << after
                               << " updates of them; expected at most one, with at most one update";
}

}  // namespace

// Behind whole chunks of a forward program.
static LogicalResult verify_intermediate_states(ProgramOp program) {
  const int64_t every = signed_value(program.getStatesEvery()), chunk = signed_value(program.getChunk());
  if (every < 0 || every > rec::max_save_every || every % chunk != 0)
    return program.emitOpError() << "states_every is " << every << " tokens; expected a multiple of the chunk, "
                                 << chunk << ", up to " << rec::max_save_every;
  if (every > 0 && (program.getBackward() || program.getRecompute()))
    return program.emitOpError("has states_every, but is of gradients; expected a forward program");
  return success();
}

LogicalResult ProgramOp::verify() {
  if (auto fault = rec::name_fault(getRecurrence())) return emitOpError() << *fault;
  if (!rec::is_extent(signed_value(getChunk())))
    return emitOpError() << "chunk is " << signed_value(getChunk()) << "; expected " << rec::extents_text;
  if (failed(verify_extent(*this, "key_dim", signed_value(getKeyDim())))) return failure();
  if (failed(verify_extent(*this, "value_dim", signed_value(getValueDim())))) return failure();
  if (!rec::is_compute(getCompute()))
    return emitOpError() << "compute is \"" << getCompute() << "\"; expected " << rec::computes_text;
  if (getSummary() && !rec::is_map(*getSummary()))
    return emitOpError() << "is a summary with a \"" << *getSummary() << "\" map; expected " << rec::maps_text;
  if (getPlain() && getRefused())
    return emitOpError("is plain, and for what a plain one refuses; expected one of them");
  if (!is_target(getArch())) return emitOpError() << "arch is \"" << getArch() << "\"; expected " << sm_90a.arch;
  if (!dtype_from(getStateDtype()))
    return emitOpError() << "stores states as \"" << getStateDtype() << "\"; expected f32, f16 or bf16";
  if (getStateLayout() != "vk" && getStateLayout() != "kv")
    return emitOpError() << "stores states in the order \"" << getStateLayout() << "\"; expected vk or kv";
  if (failed(verify_intermediate_states(*this))) return failure();
  if ((getBackward() || getRecompute()) && getGradients())
    return emitOpError("is of gradients, and is to be differentiated; expected a forward program");
  if (rec::is_sram_budget(signed_value(getSramBudget()))) return success();
  return emitOpError() << "sram_budget is " << signed_value(getSramBudget()) << " bytes; expected "
                       << rec::sram_budgets_text;
}

LogicalResult ProgramOp::verifyRegions() {
  Block& body = getBody().front();
  if (body.getNumArguments()) return emitOpError("takes no arguments");
  if (body.getOperations().size() > kMaxOperations)
    return emitOpError() << "has " << body.getOperations().size() << " operations; expected at most " << kMaxOperations;
  Structure structure(*this);
  for (Operation& op : body)
    if (failed(structure.verify(op))) return failure();
  if (failed(verify_single<StateOp>(*this, "states"))) return failure();
  if (failed(verify_single<UpdateOp>(*this, "updates"))) return failure();
  if (failed(verify_saved(*this))) return failure();
  if (failed(structure.verify_plain(*this))) return failure();
  return structure.verify_bounds(*this);
}

}  // namespace wkvc::chunk
