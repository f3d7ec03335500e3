// A program as a host application calls it: one call a pass, tensors in a known order, and one workspace for all that
// the passes keep for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/program.h"

namespace wkvc {

class Operator {
 public:
  static constexpr std::size_t max_tensors = 48;

  // Throws UserError where the program has more than max_tensors.
  explicit Operator(const Program& program);

  bool has(Direction pass) const;
  Target target() const { return target_; }
  // Of all passes together, see joint_manifest.
  const Manifest& manifest() const { return manifest_; }

  // What the caller gives a pass, in the order that launch takes it; throws UserError where there is no such pass.
  std::span<const TensorSpec> tensors(Direction pass) const;

  // Bytes of memory that launches at this size need beside the tensors; 0 where nothing is kept. A backward pass reads
  // there what the forward pass of the same inputs has left. Throws UserError for sizes that no launch has, and beyond
  // 63 bits.
  std::int64_t workspace_bytes(LaunchSize size) const;

  // Launches the kernels of a pass on `stream`, as Program::launch does: nothing is allocated and nothing waited for.
  // As Program::launch: the first with tensors that are not aligned compiles kernels for them.
  // `tensors` are those of tensors(pass), Tensor{} for what is left out; `workspace` is memory of the target's, aligned
  // to 256 bytes (cudaMalloc's and PyTorch's is), and may be null where workspace_bytes is 0.
  void launch(Direction pass, std::span<const Tensor> tensors, LaunchSize size, void* workspace = nullptr,
              StreamHandle stream = nullptr, Checks checks = Checks::layout) const;

 private:
  // One pass, and where its kernels' tensors come from.
  struct Pass {
    explicit Pass(Program whole, std::span<const TensorSpec> internals);

    Program program;
    std::vector<TensorSpec> given;      // in the order of the program's manifest
    std::vector<std::size_t> internal;  // for each tensor of the program: which of the internals, or how many there are
  };

  const Pass& pass(Direction direction) const;

  Manifest manifest_;
  Target target_;
  std::vector<TensorSpec> internals_;  // in the order they lie in the workspace
  std::optional<Pass> forward_, backward_;
};

}  // namespace wkvc
