// The float64 recurrence and its gradients, of batches or of sequences one behind the other.
#pragma once

#include "checking/passes.h"
#include "checking/reference/reference.h"
#include "checking/values/sequences.h"
#include "codegen/rec/Rec.h"
#include "codegen/rec/reference/Gradient.h"

namespace wkvc {

class RecurrenceRuns {
 public:
  // `passes` say what runs. The state behind every `states_every` tokens is a result, too (0: none). `forward` and
  // `backward` round in these passes; null: not at all.
  RecurrenceRuns(rec::RecurrenceOp recurrence, Passes passes, std::int64_t states_every, rec::Rounding* forward,
                 rec::Rounding* backward)
      : recurrence_(recurrence), passes_(passes), states_every_(states_every), forward_(forward), backward_(backward) {}

  // The results of the forward pass; gradients are kept. Of sequences one behind the other, intermediate states lie as
  // kernels have them, and those of no sequence are zero.
  rec::Result of(const Givens& givens);
  rec::Result of_sequences(const Givens& givens, const Sequences& sequences);

  // Returns those of the last run, once.
  rec::Gradients gradients() { return std::move(gradients_); }

 private:
  rec::RecurrenceOp recurrence_;
  Passes passes_;
  std::int64_t states_every_;
  rec::Rounding *forward_, *backward_;
  rec::Gradients gradients_;
};

}  // namespace wkvc
