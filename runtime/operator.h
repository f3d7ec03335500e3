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
  // Bytes at the beginning of the workspace that the forward pass leaves for the backward pass, which only reads them.
  std::int64_t saved_bytes(LaunchSize size) const;

  // Tensors that the forward pass leaves for the backward pass, in the order of their memory.
  std::span<const TensorSpec> saved() const { return std::span(internals_).first(saved_count_); }

  // Launches the kernels of a pass on `stream`, as Program::launch does: nothing is allocated and nothing waited for.
  // As Program::launch: the first with tensors that are not aligned compiles kernels for them.
  // `tensors` are those of tensors(pass), Tensor{} for what is left out; `workspace` is memory of the target's, aligned
  // to 256 bytes (cudaMalloc's and PyTorch's is; 64 on the host), and may be null where workspace_bytes is 0.
  void launch(Direction pass, std::span<const Tensor> tensors, LaunchSize size, void* workspace = nullptr,
              StreamHandle stream = nullptr, Checks checks = Checks::layout) const;

  // A workspace in two parts: saved_bytes that live until the backward pass, and the rest, which a pass needs while it
  // runs.
  struct Workspace {
    void* saved = nullptr;
    void* scratch = nullptr;
  };
  void launch(Direction pass, std::span<const Tensor> tensors, LaunchSize size, Workspace workspace,
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
  std::int64_t bytes_of(std::span<const TensorSpec> internals, LaunchSize size) const;

  Manifest manifest_;
  Target target_;
  std::vector<TensorSpec> internals_;  // in the order they lie in the workspace
  std::size_t saved_count_ = 0;        // of the internals, the first ones
  std::optional<Pass> forward_, backward_;
};

}  // namespace wkvc
