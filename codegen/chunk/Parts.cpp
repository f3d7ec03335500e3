#include "codegen/chunk/Parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/ir/NoRoom.h"
#include "codegen/rec/Limits.h"

using namespace mlir;

namespace wkvc {

namespace {

bool is_of_values(Value value) { return !rec::is_matrix(value) && rec::dim_of(value) == rec::Dim::V; }

// Returns whether an operation makes a number, or a vector of keys, of a vector of values.
bool sums_values(Operation& op) {
  if (auto output = dyn_cast<rec::OutputOp>(op)) return output.getDim() != rec::Dim::V;
  const auto is_vector_of_else = [](Value x) { return !rec::is_matrix(x) && !is_of_values(x); };
  return llvm::any_of(op.getOperands(), is_of_values) && llvm::any_of(op.getResults(), is_vector_of_else);
}

// Returns the fewest parts that so many values can be dealt to.
int64_t least_parts(int64_t values) {
  int64_t parts = 1;
  while (!rec::are_parts(values, parts)) ++parts;
  return parts;
}

void expect_rows_apart(rec::RecurrenceOp recurrence, int parts, const std::vector<std::string>& shared) {
  for (Operation& op : recurrence.getBody().front()) {
    if (sums_values(op))
      user_error_at(&op, "--parts {}: '{}' sums over the values of a head, of which a part has some; use --parts 1",
                    parts, recurrence.getSymName().str());
    auto input = dyn_cast<rec::InputOp>(op);
    if (input && input.getDim() == rec::Dim::V && llvm::is_contained(shared, input.getName().str()))
      user_error_at(&op, "--parts {}: heads share the values '{}'; leave '{}' out of --shared, or use --parts 1", parts,
                    input.getName().str(), input.getName().str());
  }
}

// Returns the type of a value of the head in one of its parts.
RankedTensorType type_in_part(Value value, int parts) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!rec::is_matrix(value) && !is_of_values(value)) return type;
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape.front() /= parts;  // the rows of a matrix are values
  return type.clone(shape);
}

}  // namespace

void take_part(rec::RecurrenceOp recurrence, int parts, const std::vector<std::string>& shared) {
  const int64_t values = rec::signed_value(recurrence.getValueDim());
  if (parts <= 1 && !rec::is_extent(values))
    no_room_at(recurrence, "'{}' has {} values a head, of which a block takes {}; give --parts {}",
               recurrence.getSymName().str(), values, rec::extents_text, least_parts(values));
  if (parts <= 1) return;
  if (!rec::are_parts(values, parts))
    user_error_at(recurrence, "--parts {}: the {} values of a head can't be dealt to so many parts; expected {} each",
                  parts, values, rec::extents_text);
  expect_rows_apart(recurrence, parts, shared);
  for (Operation& op : recurrence.getBody().front())
    for (Value result : op.getResults()) result.setType(type_in_part(result, parts));
  recurrence.setValueDim(static_cast<uint64_t>(values / parts));
}

void set_parts(chunk::ProgramOp program, int parts) { program.setParts(static_cast<uint64_t>(std::max(parts, 1))); }

}  // namespace wkvc

namespace wkvc::chunk {

void ProgramOp::inherit(ProgramOp program) {
  setArch(program.getArch());
  setStateDtype(program.getStateDtype());
  setStateLayout(program.getStateLayout());
  setParts(program.getParts());
}

std::string ProgramOp::headText() {
  const std::string dims = fmt::format("{}x{}", getKeyDim(), getValueDim() * getParts());
  return getParts() > 1 ? fmt::format("{} in {} parts", dims, getParts()) : dims;
}

llvm::SmallVector<const char*> ProgramOp::optionsOfHead() {
  llvm::SmallVector<const char*> options;
  if (getKeyDim() > 16 || getValueDim() > 16) options.push_back("a smaller --head");
  if (getValueDim() > 16) options.push_back("more --parts");
  return options;
}

}  // namespace wkvc::chunk
