// A chunk program beside the recurrence it comes from, both in float64.
#pragma once

#include <string>
#include <vector>

#include "codegen/rec/Interpreter.h"

namespace wkvc::test {

struct Problem {
  rec::Shape shape;
  rec::Tensors inputs;
  std::vector<double> initial_state;
};

// Draws every tensor of the recurrence; `log_decays` are those that occur.
Problem random_problem(const std::string& rec_text, rec::Shape shape, const std::vector<double>& log_decays);

rec::Result run_rec(const std::string& rec_text, const Problem& problem);
rec::Result run_chunk(const std::string& chunk_text, const Problem& problem);

// The largest relative error ‖x−ref‖/‖ref‖ among outputs and final state; infinity where anything is not finite.
double error_between(const rec::Result& result, const rec::Result& reference);

}  // namespace wkvc::test
