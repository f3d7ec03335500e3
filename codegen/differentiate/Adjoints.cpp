#include "codegen/differentiate/Adjoints.h"

using namespace mlir;

namespace wkvc {

std::string gradient_name(llvm::StringRef name) { return "d" + name.str(); }

void Adjoints::add(Value primal, Term term) {
  Term& sum = terms_[primal];
  if (!sum.value) {
    sum = term;
  } else if (sum.factor == term.factor) {
    sum.value = b_.add(sum.value, term.value);
  } else if (sum.factor == -term.factor) {
    if (sum.factor > 0)
      sum.value = b_.sub(sum.value, term.value);
    else
      sum = {b_.sub(term.value, sum.value), term.factor};
  } else {
    sum = {b_.add(apply_factor(sum), apply_factor(term)), 1};
  }
}

Term Adjoints::of(Value primal) {
  auto it = terms_.find(primal);
  if (it == terms_.end()) return {};
  Term& term = it->second;
  term.value = b_.spread(term.value, chunk::rows(primal), chunk::columns(primal), dims_of(spaces_.lookup(primal)));
  return term;
}

}  // namespace wkvc
