// Runs kernels on tensors in host memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checking/passes.h"
#include "checking/refusals.h"
#include "checking/subject.h"
#include "checking/values/cases.h"
#include "runtime/program.h"

namespace wkvc {

// "cpu" or "cuda"; when not given, cuda where there is a GPU the kernels are for. Throws UserError: another name, or
// cuda where there is none.
Target target_from(const std::optional<std::string>& device);
// Throws UserError, "bench needs a GPU: …", where there is none the kernels are for.
void expect_gpu(std::string_view command);
const char* device_name(Target target);  // "cpu", "cuda"

// The kernels that run. A text of the user's own that does not compile is the user's mistake.
Program load_program(const Subject& subject, const Runnable& runnable, Target target);

// Every tensor of the case as it is after a launch on poisoned results: inputs, too, which nothing should have changed.
// Tells what guarded kernels refused, if somebody asks. Throws what launching throws.
TensorMap executed(const Program& program, const Case& values, std::vector<Refusals>* refusals = nullptr);

// Fills the case's results. Returns why it could not, where a text of the user's own fails as it runs; then they hold
// NaN.
std::string execute(const Subject& subject, const Program& program, Case& values,
                    std::vector<Refusals>* refusals = nullptr);

}  // namespace wkvc
