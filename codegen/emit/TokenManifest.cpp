#include "codegen/emit/TokenManifest.h"

#include "codegen/config/config.h"
#include "codegen/emit/Header.h"
#include "codegen/rec/Names.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

static DType dtype_of_elements(Value x) { return rec::dtype_of(cast<RankedTensorType>(x.getType()).getElementType()); }

static std::vector<std::string> dims_over(std::vector<std::string> outer, rec::Dim dim) {
  if (dim != rec::Dim::One) outer.push_back(rec::stringifyDim(dim).str());
  return outer;
}

// Returns the initial state, the final one and, if they are stored, the intermediate ones.
static std::vector<TensorSpec> states_of(const Config& config) {
  const DType stored = config.state.empty() ? DType::f32 : *dtype_from(config.state);
  const bool keys_first = config.state_layout == "kv";
  const std::string rows = keys_first ? "K" : "V", columns = keys_first ? "V" : "K";
  std::vector<TensorSpec> states{{"initial_state", Role::initial_state, stored, {"B", "H", rows, columns}},
                                 {"final_state", Role::final_state, stored, {"B", "H", rows, columns}}};
  if (config.states_every > 0)
    states.push_back({"intermediate_states", Role::intermediate_states, stored, {"B", "M", "H", rows, columns}});
  return states;
}

static std::vector<TensorSpec> tensors_of(rec::RecurrenceOp recurrence, const Config& config) {
  std::vector<TensorSpec> all;
  Block& body = recurrence.getBody().front();
  for (auto op : body.getOps<rec::InputOp>()) {
    const char* heads = llvm::is_contained(config.shared, op.getName().str()) ? "S" : "H";
    all.push_back({op.getName().str(), Role::input, dtype_of_elements(op), dims_over({"B", "T", heads}, op.getDim())});
  }
  for (auto op : body.getOps<rec::ParameterOp>())
    all.push_back({op.getName().str(), Role::parameter, dtype_of_elements(op), dims_over({"H"}, op.getDim())});
  for (auto op : body.getOps<rec::OutputOp>())
    all.push_back(
        {op.getName().str(), Role::output, rec::dtype_of(op.getDtype()), dims_over({"B", "T", "H"}, op.getDim())});
  llvm::append_range(all, states_of(config));
  return all;
}

Manifest token_manifest(rec::RecurrenceOp recurrence, const Config& config) {
  const std::string op = recurrence.getSymName().str();
  if (auto fault = rec::name_fault(op)) user_error("recurrence: {}", *fault);
  Manifest manifest = emitted_manifest(op, op + "_forward", config.arch);
  manifest.key_dim = static_cast<int>(recurrence.getKeyDim());
  manifest.value_dim = static_cast<int>(recurrence.getValueDim());
  manifest.chunk = 1;
  manifest.states_every = config.states_every;
  manifest.warps = manifest.value_dim / 16;
  manifest.tensors = tensors_of(recurrence, config);
  manifest.config = fmt::format("head {}x{} chunk 1 io {} mma f32 state {}", manifest.key_dim, manifest.value_dim,
                                io_of(manifest), state_of(manifest));
  return manifest;
}

}  // namespace wkvc
