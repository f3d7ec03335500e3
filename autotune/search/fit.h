// What fits in a multiprocessor: the largest chunk of each precision and head size, and its shared memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/compiler.h"
#include "dsl/wkvc.h"

namespace wkvc {

struct FitRow {
  std::string mma, io, pass;  // "f16", "bf16", "forward"
  int key_dim = 0, value_dim = 0;

  // Of the kernel of this pass at the largest chunk; chunk 0: none fits.
  int chunk = 0;
  int warps = 0;
  std::int64_t shared_bytes = 0;  // of one block, as it is launched
  int blocks = 0;                 // that a multiprocessor holds at least
  // Why no larger chunk does, or none at all: the compiler's message, with the map of shared memory.
  std::string limit;

  std::string tile() const;  // "4 warps of 16x64": what of the state each holds in registers
};

// The precisions there are, as operands of contractions.
const std::vector<std::string>& fit_precisions();

// The row of one configuration (head, io, mma and pass), trying chunks from 16 upwards until one does not fit. Throws
// UserError for what no chunk can mend, such as a recurrence that is not supported.
FitRow fit(const Definition& recurrence, const Config& config);

}  // namespace wkvc
