// The float64 recurrence and its gradients, of batches or of sequences one behind the other.
#pragma once

#include "checking/passes.h"
#include "checking/reference.h"
#include "checking/sequences.h"
#include "codegen/rec/Gradient.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

class RecurrenceRuns {
 public:
  // Of these passes; the roundings, which may be null, are of the forward and of the backward pass.
  RecurrenceRuns(rec::RecurrenceOp recurrence, Passes passes, rec::Rounding* forward, rec::Rounding* backward)
      : recurrence_(recurrence), passes_(passes), forward_(forward), backward_(backward) {}

  // The results of the forward pass; gradients are kept.
  rec::Result of(const Givens& givens);
  rec::Result of_sequences(const Givens& givens, const Sequences& sequences);

  // Of the last run.
  rec::Gradients gradients() { return std::move(gradients_); }

 private:
  rec::RecurrenceOp recurrence_;
  Passes passes_;
  rec::Rounding *forward_, *backward_;
  rec::Gradients gradients_;
};

}  // namespace wkvc
