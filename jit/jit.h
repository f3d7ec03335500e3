// Kernels compiled while a program runs.
//
//   const auto op = prepare("rwkv7", {.key_dim = 64, .value_dim = 64, .pass = "both"});
//   op->launch(Direction::forward, tensors, {batches, tokens, heads}, workspace, stream);
//
// What a configuration leaves open is taken from the lockfile that comes with wkvc (autotune/lockfile/settings.h).
#pragma once

#include <memory>
#include <string_view>

#include "dsl/wkvc.h"
#include "runtime/operator.h"

namespace wkvc {

struct PrepareOptions {
  Target target = Target::cuda;
  LaunchSize size{8, 4096, 64};  // that the kernels are mostly used at; they take any
  std::int64_t sequences = 1;    // that lie one behind the other in a batch
};

// What is ready to launch, from memory, from the disk cache (runtime/cache/disk_cache.h) or compiled now. Whatever the
// number of threads that ask, each recurrence, configuration and target is compiled once in a process, and loaded once
// on each GPU: the one of the calling thread's context. With pass "backward" the forward pass that saves its states
// comes with it. Throws UserError: the recurrence or configuration is not possible, there is no GPU, or no NVRTC.
std::shared_ptr<const Operator> prepare(const Definition& recurrence, const Config& config = {},
                                        PrepareOptions options = {});

// The same for a recurrence that Registry::known() knows by name.
std::shared_ptr<const Operator> prepare(std::string_view recurrence, const Config& config = {},
                                        PrepareOptions options = {});

// The same for the text of any stage.
std::shared_ptr<const Operator> prepare(const Source& source, const Config& config = {}, PrepareOptions options = {});

}  // namespace wkvc
