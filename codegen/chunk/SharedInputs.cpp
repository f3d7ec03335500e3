#include "codegen/chunk/SharedInputs.h"

#include <fmt/ranges.h>

#include "codegen/chunk/Chunk.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

void expect_inputs(rec::RecurrenceOp recurrence, const std::vector<std::string>& shared) {
  std::vector<std::string> known;
  for (auto input : recurrence.getBody().getOps<rec::InputOp>()) known.push_back(input.getName().str());
  for (const std::string& name : shared)
    if (!llvm::is_contained(known, name))
      user_error("--shared: '{}' has no input '{}'; there are {}", recurrence.getSymName().str(), name,
                 fmt::join(known, ", "));
}

void share_inputs(ModuleOp module, const std::vector<std::string>& shared) {
  module.walk([&](chunk::InputOp input) {
    if (llvm::is_contained(shared, input.getSym().str())) input.setShared(true);
  });
}

}  // namespace wkvc
