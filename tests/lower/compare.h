// A chunk program beside the recurrence it comes from, both in float64.
#pragma once

#include <string>
#include <vector>

#include "codegen/rec/reference/Interpreter.h"

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

// Gradients of Σ o∘do + Σ final_state∘dfinal_state, as the results "dr", … and the final state "dinitial_state".
struct Incoming {
  rec::Tensors outputs;  // by the outputs' names
  std::vector<double> final_state;
};
Incoming random_incoming(const rec::Result& forward);
rec::Result run_rec_gradient(const std::string& rec_text, const Problem& problem, const Incoming& incoming);
// `both` holds the forward and the backward program; if plain ones stand before them, these are run.
rec::Result run_chunk_gradient(const std::string& both, const Problem& problem, const Incoming& incoming);

// The largest relative error ‖x−ref‖/‖ref‖ among outputs and final state; infinity where anything is not finite.
double error_between(const rec::Result& result, const rec::Result& reference);

}  // namespace wkvc::test
