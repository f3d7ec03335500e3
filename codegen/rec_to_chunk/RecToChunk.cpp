#include "codegen/rec_to_chunk/RecToChunk.h"

#include <llvm/ADT/MapVector.h>

#include "codegen/chunk/Names.h"
#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/rec_to_chunk/Affine.h"
#include "codegen/rec_to_chunk/Decay.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

std::string numbered(const char* name, size_t index, size_t count) {
  return count == 1 ? name : fmt::format("{}{}", name, index);
}

class Lowering {
 public:
  Lowering(rec::RecurrenceOp recurrence, OpBuilder& builder, const std::string& compute, DecayPlan plan)
      : recurrence_(recurrence),
        plan_(plan),
        b_(builder, recurrence.getLoc(), compute),
        analysis_(recurrence, b_, plan.chunk) {}

  void run() {
    analysis_.run();
    prepare();
    decay_.emplace(b_, plan_, next_, recurrence_.getKeyDim());
    solve();
    for (Operation* op : analysis_.late()) {
      b_.set_location(op->getLoc());
      lower_late(op);
    }
    for (Operation& op : recurrence_.getBody().front())
      if (auto output = llvm::dyn_cast<rec::OutputOp>(&op)) {
        b_.set_location(op.getLoc());
        lower_output(output);
      }
    b_.set_location(recurrence_.update().getLoc());
    update();
    name_operands(llvm::cast<chunk::ProgramOp>(b_.builder().getInsertionBlock()->getParentOp()));
  }

 private:
  using Matrices = llvm::MapVector<Value, Value>;  // what a C×V operand is multiplied with from the left

  void prepare() {
    auto type = b_.f32_type(recurrence_.getValueDim(), recurrence_.getKeyDim());
    S0_ = b_.create<chunk::StateOp>(type, recurrence_.state().getName(), state_exponent(plan_, b_.builder()));
    set_name(S0_, recurrence_.state().getName());
    next_ = analysis_.next();
    for (RankOne& term : next_.rank) term = {b_.zero_past_end(term.left), b_.zero_past_end(term.right)};
    for (RankOne& term : next_.input) term = {b_.zero_past_end(term.left), b_.zero_past_end(term.right)};
    for (RankOne& term : next_.input) b_.set_measurable(term.left);
  }

  static void accumulate(ChunkBuilder& b, Value& sum, Value term) { sum = sum ? b.add(sum, term) : term; }

  // Σ matrix · operand over a map, C×V.
  Value contract(const Matrices& matrices, Value sum = {}) {
    for (auto [operand, matrix] : matrices) {
      b_.set_measurable(matrix);
      accumulate(b_, sum, b_.dot(matrix, 1, operand, 0));
    }
    return sum;
  }

  // Lower triangular matrices of one read against every term: inputs' V and the rank-one terms' U.
  void pair_with_terms(Matrices& matrices, Value q, bool after) {
    for (const RankOne& term : next_.input) accumulate(b_, matrices[term.left], decay_->pair(q, after, term.right));
    for (size_t j = 0; j < U_.size(); ++j) accumulate(b_, matrices[U_[j]], decay_->pair(q, after, next_.rank[j].right));
  }

  Value read_state(Value q, bool after) { return decay_->read(S0_, q, after); }

  // The inputs that are written with the vector of a rank-one term, S·a bᵀ + v bᵀ, by term: v + S·a is then one value
  // U.
  std::vector<Value> take_written_alike() {
    std::vector<Value> sums(next_.rank.size());
    llvm::erase_if(next_.input, [&](const RankOne& input) {
      auto alike = llvm::find_if(next_.rank, [&](const RankOne& term) { return term.right == input.right; });
      if (alike == next_.rank.end()) return false;
      accumulate(b_, sums[static_cast<size_t>(alike - next_.rank.begin())], input.left);
      return true;
    });
    return sums;
  }

  // Marks a C×C matrix that U is multiplied by. Where keys repeat, each chunk multiplies the state by the same
  // matrices, whose roundings add up and go to the power of the number of chunks: so such an operand has two terms.
  void set_of_solve(Value matrix) {
    b_.set_measurable(matrix);
    b_.set_two_terms(matrix);
  }

  // U = S·a of every token: (I − AB) U = AK·V + ã·S₀ᵀ, blocks of several terms by Gaussian elimination.
  void solve() {
    size_t n = next_.rank.size();
    std::vector<std::vector<Value>> AB(n, std::vector<Value>(n));
    std::vector<Value> X = take_written_alike(), M(n);
    for (size_t i = 0; i < n; ++i) {
      Matrices AK;
      for (const RankOne& term : next_.input)
        accumulate(b_, AK[term.left], decay_->pair(next_.rank[i].left, false, term.right));
      for (auto& [operand, matrix] : AK) set_name(matrix, numbered("AK", i, n));
      accumulate(b_, X[i], read_state(next_.rank[i].left, false));
      X[i] = contract(AK, X[i]);
      for (size_t j = 0; j < n; ++j) {
        AB[i][j] = decay_->pair(next_.rank[i].left, false, next_.rank[j].right);
        set_name(AB[i][j], i == j ? numbered("AB", i, n) : fmt::format("AB{}{}", i, j));
        if (i != j) set_of_solve(AB[i][j]);
      }
    }
    for (size_t p = 0; p < n; ++p) {
      M[p] = b_.inverse(AB[p][p]);
      set_name(M[p], numbered("M", p, n));
      set_of_solve(M[p]);
      for (size_t i = p + 1; i < n; ++i) eliminate(AB, X, M[p], p, i);
    }
    U_.resize(n);
    for (size_t p = n; p-- > 0;) {
      for (size_t j = p + 1; j < n; ++j) X[p] = b_.add(X[p], b_.dot(AB[p][j], 1, U_[j], 0));
      set_name(X[p], numbered("U0", p, n));
      b_.set_measurable(X[p]);
      U_[p] = b_.dot(M[p], 1, X[p], 0);
      set_name(U_[p], numbered("U", p, n));
      b_.set_measurable(U_[p]);
    }
  }

  // Row i minus what row p says of U_p.
  void eliminate(std::vector<std::vector<Value>>& AB, std::vector<Value>& X, Value M, size_t p, size_t i) {
    Value F = b_.dot(AB[i][p], 1, M, 0);
    set_of_solve(F);
    for (size_t j = p + 1; j < AB.size(); ++j) {
      AB[i][j] = b_.add(AB[i][j], b_.dot(F, 1, AB[p][j], 0));
      set_of_solve(AB[i][j]);
    }
    b_.set_measurable(X[p]);
    X[i] = b_.add(X[i], b_.dot(F, 1, X[p], 0));
  }

  Value materialize(Value token_value) {
    Value& cached = materialized_[token_value];
    if (cached) return cached;
    const VectorForm* form = analysis_.vector_form(token_value);
    if (!form) return cached = b_.widen(analysis_.lifted(token_value));
    Value sum;
    Matrices matrices;
    for (Value q : form->before) accumulate(b_, sum, read_state(q, false)), pair_with_terms(matrices, q, false);
    for (Value q : form->after) accumulate(b_, sum, read_state(q, true)), pair_with_terms(matrices, q, true);
    for (const auto& p : form->products) {
      Value x_y = b_.row_dot(p.x, p.y);
      accumulate(b_, sum, b_.mul(x_y, b_.zero_past_end(b_.widen(p.v))));
    }
    sum = contract(matrices, sum);
    if (form->plain) accumulate(b_, sum, b_.widen(form->plain));
    return cached = sum;
  }

  void lower_late(Operation* op) {
    llvm::SmallVector<Value> operands;
    for (Value v : op->getOperands()) operands.push_back(materialize(v));
    materialized_[op->getResult(0)] = analysis_.lift(op, operands);
  }

  void lower_output(rec::OutputOp output) {
    rec::Dim dim = output.getDim();
    Value value = b_.spread(b_.widen(materialize(output.getValue())), plan_.chunk, recurrence_.extent(dim),
                            "T" + rec::stringifyDim(dim).str());
    set_name(value, output.getName().upper());
    b_.create<chunk::OutputOp>(output.getName(), value, name_of(rec::dtype_of(output.getDtype())), StringAttr(),
                               /*kept=*/false);
  }

  void update() {
    llvm::SmallVector<Value> writes;
    for (const RankOne& term : next_.input) writes.push_back(b_.dot(term.left, 0, decay_->write(term.right), 0));
    for (size_t j = 0; j < U_.size(); ++j) writes.push_back(b_.dot(U_[j], 0, decay_->write(next_.rank[j].right), 0));
    Value next = decay_->finish(S0_, writes);
    set_name(next, (recurrence_.state().getName() + "_next").str());
    b_.create<chunk::UpdateOp>(next);
  }

  rec::RecurrenceOp recurrence_;
  DecayPlan plan_;
  ChunkBuilder b_;
  AffineAnalysis analysis_;
  MatrixForm next_;
  std::optional<Decay> decay_;
  Value S0_;
  std::vector<Value> U_;
  llvm::DenseMap<Value, Value> materialized_;
};

// The decay's range without a program to keep: the analysis run on a throw-away one.
struct Plans {
  DecayPlan of_scaled;
  std::optional<DecayPlan> of_plain;  // if it is another
};
Plans plan_for(rec::RecurrenceOp recurrence, const std::string& compute, int chunk, bool gradients) {
  OpBuilder builder(recurrence.getContext());
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(recurrence.getLoc());
  builder.setInsertionPointToEnd(scratch->getBody());
  ChunkBuilder b(builder, recurrence.getLoc(), compute);
  AffineAnalysis analysis(recurrence, b, 16);
  analysis.run();
  const DecayPlan plan = plan_decay(analysis.next(), compute, gradients, chunk);
  return {plan, plan_of_plain(analysis.next(), plan)};
}

OwningOpRef<ModuleOp> lowered(rec::RecurrenceOp recurrence, const std::string& compute, DecayPlan plan) {
  OpBuilder builder(recurrence.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(recurrence.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto program = chunk::ProgramOp::create(builder, recurrence.getLoc(), recurrence.getSymName(), plan.chunk,
                                          recurrence.getKeyDim(), recurrence.getValueDim(), compute,
                                          recurrence.getSramBudget(), /*summary=*/nullptr, /*plain=*/nullptr,
                                          /*gradients=*/nullptr);
  builder.setInsertionPointToEnd(&program.getBody().emplaceBlock());
  Lowering(recurrence, builder, compute, plan).run();
  return module;
}

bool contracts_in_f32(ModuleOp module) {
  bool found = false;
  module.walk([&](chunk::DotOp dot) { found |= chunk::element(dot.getX()).isF32(); });
  return found;
}

// The plain program of bf16 contractions has f16 operands: f16 has more digits, and the program after it has bf16's
// range. Null where the range of f16 does not do for all contractions, or for the decays of such chunks.
OwningOpRef<ModuleOp> plain_in_f16(rec::RecurrenceOp recurrence, int chunk, bool gradients) {
  try {
    const auto [of_scaled, of_plain] = plan_for(recurrence, "f16", chunk, gradients);
    auto module = lowered(recurrence, "f16", of_plain.value_or(of_scaled));
    return contracts_in_f32(*module) ? OwningOpRef<ModuleOp>() : std::move(module);
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace

OwningOpRef<ModuleOp> rec_to_chunk(rec::RecurrenceOp recurrence, int chunk, bool gradients) {
  const std::string compute = recurrence.getCompute().str();
  return lowered(recurrence, compute, plan_for(recurrence, compute, chunk, gradients).of_scaled);
}

OwningOpRef<ModuleOp> rec_to_plain_chunk(rec::RecurrenceOp recurrence, int chunk, bool gradients) {
  const std::string compute = recurrence.getCompute().str();
  if (compute == "bf16")
    if (auto module = plain_in_f16(recurrence, chunk, gradients)) return module;
  const auto plan = plan_for(recurrence, compute, chunk, gradients).of_plain;
  return plan ? lowered(recurrence, compute, *plan) : OwningOpRef<ModuleOp>();
}

}  // namespace wkvc
