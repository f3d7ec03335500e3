#include "jit/signature.h"

#include <nlohmann/json.hpp>

#include "codegen/rec/Rec.h"

namespace wkvc {
namespace {

using nlohmann::ordered_json;

ordered_json tensor_json(std::string_view name, std::string_view of, rec::Dim dim, mlir::Type dtype) {
  return {{"name", name}, {"of", of}, {"dim", rec::stringifyDim(dim)}, {"dtype", name_of(rec::dtype_of(dtype))}};
}

template <class Op>
ordered_json given_json(Op op, std::string_view of) {
  const auto type = mlir::cast<mlir::RankedTensorType>(op.getResult().getType());
  return tensor_json(op.getName().str(), of, op.getDim(), type.getElementType());
}

ordered_json option_json(const OptionInfo& option) {
  return {{"name", option.name}, {"values", option.values}, {"otherwise", option.value}, {"meaning", option.meaning}};
}

}  // namespace

std::string signature_json(const std::string& text, const std::vector<OptionInfo>& options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = rec::parse(text, "source", context);
  rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  ordered_json inputs = ordered_json::array(), outputs = ordered_json::array();
  for (mlir::Operation& op : recurrence.getBody().getOps()) {
    if (auto input = mlir::dyn_cast<rec::InputOp>(op)) inputs.push_back(given_json(input, "token"));
    if (auto parameter = mlir::dyn_cast<rec::ParameterOp>(op)) inputs.push_back(given_json(parameter, "head"));
    if (auto output = mlir::dyn_cast<rec::OutputOp>(op))
      outputs.push_back(tensor_json(output.getName().str(), "token", output.getDim(), output.getDtype()));
  }
  ordered_json declared = ordered_json::array();
  for (const OptionInfo& option : options) declared.push_back(option_json(option));
  return ordered_json{{"name", recurrence.getSymName().str()},
                      {"key_dim", recurrence.getKeyDim()},
                      {"value_dim", recurrence.getValueDim()},
                      {"inputs", inputs},
                      {"outputs", outputs},
                      {"options", declared}}
      .dump();
}

}  // namespace wkvc
