#include "codegen/passes/chunk/SplitSums.h"

#include <llvm/ADT/DenseSet.h>

#include "codegen/chunk/Axes.h"
#include "codegen/chunk/DropUnused.h"
#include "codegen/chunk/Names.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

namespace {

constexpr Space kMatrix{Axis::token, Axis::token};

class Splitter {
 public:
  explicit Splitter(chunk::ProgramOp program) : program_(program), spaces_(infer_spaces(program)) {}

  // Returns whether there are such sums.
  bool run() {
    for (auto sum : llvm::make_early_inc_range(program_.getBody().getOps<chunk::SumColumnsOp>())) split(sum);
    drop_dead_values(program_);
    return split_;
  }

 private:
  void split(chunk::SumColumnsOp sum) {
    if (spaces_.lookup(sum.getX()) != kMatrix) return;
    llvm::SmallVector<Operation*> chain{sum};
    chunk::AddOp matrices = find_matrices(sum.getX(), chain);
    if (!matrices || !are_apart(matrices.getX(), matrices.getY())) return;
    split_ = true;
    OpBuilder b(sum);
    for (Value term : matrices->getOperands()) name_term(term, matrices);
    const Value x = along(b, matrices.getX(), chain), y = along(b, matrices.getY(), chain);
    auto whole = chunk::AddOp::create(b, b.getUnknownLoc(), sum.getType(), x, y);
    set_name(whole, derived_name_of(sum));
    sum.replaceAllUsesWith(whole.getResult());
    split(x.getDefiningOp<chunk::SumColumnsOp>());
    split(y.getDefiningOp<chunk::SumColumnsOp>());
  }

  // Returns the sum of matrices that a value is made of by linear operations alone, which join `chain`.
  static chunk::AddOp find_matrices(Value x, llvm::SmallVectorImpl<Operation*>& chain) {
    while (x.hasOneUse() && isa<chunk::TrilOp, chunk::CumsumOp>(x.getDefiningOp())) {
      chain.push_back(x.getDefiningOp());
      x = x.getDefiningOp()->getOperand(0);
    }
    auto sum = x.hasOneUse() ? x.getDefiningOp<chunk::AddOp>() : chunk::AddOp();
    return sum && sum.getX().getType() == sum.getY().getType() ? sum : chunk::AddOp();
  }

  // Names a term after the sum and the last contraction that the term is made of.
  void name_term(Value term, chunk::AddOp sum) const {
    if (!name_of(term).empty() || name_of(sum).empty()) return;
    Operation* last = nullptr;
    for (Operation* op : contractions_of(term))
      if (!last || last->isBeforeInBlock(op)) last = op;
    const std::string of = derived_name_of(last->getResult(0));
    if (!of.empty()) set_name(term, (name_of(sum) + "_of_" + of).str());
  }

  // Repeats the operations of a chain, of which the first comes last, on a term.
  Value along(OpBuilder& b, Value term, llvm::ArrayRef<Operation*> chain) {
    for (Operation* op : llvm::reverse(chain)) {
      Operation* copy = b.clone(*op);
      copy->setLoc(b.getUnknownLoc());  // without a name
      spaces_[term] = kMatrix;
      copy->setOperand(0, term);
      term = copy->getResult(0);
    }
    return term;
  }

  bool are_apart(Value x, Value y) const {
    const llvm::DenseSet<Operation*> of_x = contractions_of(x), of_y = contractions_of(y);
    const bool meet = llvm::any_of(of_x, [&](Operation* op) { return of_y.contains(op); });
    return !of_x.empty() && !of_y.empty() && !meet;
  }

  // Returns the contractions whose matrices a matrix is made of.
  llvm::DenseSet<Operation*> contractions_of(Value matrix) const {
    llvm::DenseSet<Operation*> contractions, seen;
    llvm::SmallVector<Value> open{matrix};
    while (!open.empty()) {
      Operation* op = open.pop_back_val().getDefiningOp();
      if (!seen.insert(op).second) continue;
      if (isa<chunk::DotOp>(op)) {
        contractions.insert(op);
        continue;
      }
      for (Value x : op->getOperands())
        if (spaces_.lookup(x) == kMatrix) open.push_back(x);
    }
    return contractions;
  }

  chunk::ProgramOp program_;
  Spaces spaces_;
  bool split_ = false;
};

}  // namespace

bool split_sums(chunk::ProgramOp program) { return program.getBackward() && Splitter(program).run(); }

}  // namespace wkvc
