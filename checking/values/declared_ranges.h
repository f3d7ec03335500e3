// The ranges that a recurrence declares of its inputs and parameters.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "checking/values/cases.h"
#include "codegen/rec/Ranges.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

bool is_declaration(mlir::Operation* op);  // a cast, or a range of a value

// Returns the range that is declared of the input or parameter itself or of its casts; from -inf to inf without one.
rec::Interval declared_range(rec::InputOp op);
rec::Interval declared_range(rec::ParameterOp op);

// Says on the standard error, in a line for each tensor, which elements of the file lie beyond their declared range.
void complain_of_ranges(rec::RecurrenceOp recurrence, const Manifest& manifest, const Case& given,
                        const std::filesystem::path& path);

// Returns the tensors of a user's file. Says on the standard error which of them nothing uses, and which elements lie
// beyond their declared range.
Case case_of_user(rec::RecurrenceOp recurrence, const Manifest& manifest, SafetensorsFile& file);

}  // namespace wkvc
