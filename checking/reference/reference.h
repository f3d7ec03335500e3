// The recurrence and its gradients in float64: the values results are compared with, and what rounding costs these.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "checking/passes.h"
#include "checking/reference/bounds.h"
#include "checking/reference/error_draws.h"
#include "checking/reference/rows.h"
#include "checking/values/cases.h"
#include "codegen/rec/Rec.h"
#include "codegen/rec/reference/Gradient.h"

namespace wkvc {

// Results of the recurrence by the kernels' names.
class Results {
 public:
  Results() = default;
  Results(std::string op, rec::Result forward, rec::Gradients gradients)
      : op_(std::move(op)), forward_(std::move(forward)), gradients_(std::move(gradients)) {}

  // A result's elements; throws UserError where the recurrence has none of that name.
  const std::vector<double>& of(const TensorSpec& spec) const;

 private:
  std::string op_;
  rec::Result forward_;
  rec::Gradients gradients_;
};

// What a case gives, in float64, as the recurrence takes it.
struct Givens {
  rec::Shape shape;
  rec::Tensors inputs, parameters, output_gradients;
  std::vector<double> initial_state, final_gradient;
};

// What the recurrence makes of a case's inputs.
class Reference {
 public:
  // Of the passes that run; `values` may hold results already. Keeps `recurrence`.
  Reference(rec::RecurrenceOp recurrence, const Runnable& runnable, const Case& values);

  // A result's elements, as kernels give them.
  const std::vector<double>& of(const TensorSpec& spec) const;

  LaunchSize size() const { return size_; }

  // What rounding costs one head of a result.
  struct HeadCost {
    std::vector<ErrorLimit> rows;
    ErrorDraws all;
  };

  // Computes the recurrence several times with operands of contractions rounded at random, once for each precision and
  // head.
  const HeadCost& rounded(Precision precision, const TensorSpec& spec, std::size_t head) const;

 private:
  using CostsOfHead = std::map<std::string, HeadCost>;  // by result

  Results results_of(const Givens& givens, rec::Rounding* forward, rec::Rounding* backward) const;
  Givens of_heads(std::size_t first, std::size_t count) const;
  // Of the results that have as many heads as groups of `group` heads.
  CostsOfHead drawn(Precision precision, std::size_t head, std::size_t group) const;
  bool has_groups(const TensorSpec& spec) const;  // one head for several in this launch

  rec::RecurrenceOp recurrence_;
  std::string op_;
  Passes passes_;
  Manifest manifest_;
  LaunchSize size_;
  std::shared_ptr<const Sequences> sequences_;
  Givens givens_;
  Results exact_;
  mutable std::map<std::string, std::vector<double>> arranged_;
  mutable std::map<std::tuple<Precision, std::size_t, std::size_t>, CostsOfHead> draws_;
};

}  // namespace wkvc
