// What the language builds: an expression graph over declared tensors. Extents and overrides come in when it is
// lowered.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/options.h"
#include "dsl/wkvc.h"
#include "runtime/error.h"

namespace wkvc::detail {

enum class Kind {
  input,
  parameter,
  state,
  constant,
  cast,
  assume,
  broadcast,
  neg,
  exp,
  log,
  sigmoid,
  tanh,
  softplus,
  relu,
  sqrt,
  reciprocal,
  add,
  sub,
  mul,
  scale,
  diag_mul,
  dot,
  outer,
};

struct Node {
  Kind kind;
  std::optional<Dim::Axis> axis;  // none: a V×K matrix
  DType dtype = f32;
  std::vector<std::shared_ptr<Node>> operands;
  std::string text;  // as the user wrote it, abridged
  At at;
  std::string name;                                // declared, or given with let
  std::optional<std::pair<double, double>> range;  // of inputs, parameters and assumptions
  std::optional<Drawn> drawn;                      // of inputs and parameters
  float constant = 0;
  int depth = 1;                   // of the expression
  std::optional<Compute> compute;  // of contractions, where pinned
};
using NodePtr = std::shared_ptr<Node>;

struct Output {
  std::string name;
  NodePtr value;
  DType dtype;
  At at;
};

// One run of a recurrence's body.
struct Declarations {
  int key_override = 0, value_override = 0;  // 0: as declared
  int key_dim = 0, value_dim = 0;
  std::vector<NodePtr> tensors;  // inputs and parameters, as declared
  NodePtr state, next;
  At update_at;
  std::vector<Output> outputs;
  std::optional<Compute> compute;
  std::optional<std::int64_t> sram_budget;
  std::map<std::string, At> names;
  Options options;
};

template <class... Args>
[[noreturn]] void error_at(At at, fmt::format_string<Args...> text, Args&&... args) {
  throw UserError(fmt::format(text, std::forward<Args>(args)...), fmt::format("{}:{}: ", at.file_name(), at.line()));
}

// Runs the body of a recurrence. Throws UserError for the mistakes that it sees, and for what is set and not declared.
Declarations declarations_of(const Definition& definition, const Config& config);

void check_compute(const std::optional<Compute>& compute, At at);

}  // namespace wkvc::detail
