// The kernels of one text, launched one after another: a forward pass that saves states, a backward pass.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/launch/kernel.h"
#include "runtime/packed.h"

namespace wkvc {

using NamedTensors = std::map<std::string, Tensor>;

class Program {
 public:
  // Compiles the kernels side by side. Throws as Kernel::load, and UserError where kernels disagree (see
  // joint_manifest).
  static Program load(std::string source, Target target);
  // Without compiling for cuda; the host target compiles the text as it does any other.
  static Program load(const PackedProgram& packed, Target target);

  std::span<const Kernel> kernels() const { return kernels_; }  // in the order they are launched in
  const Manifest& manifest() const { return manifest_; }        // of all together, see joint_manifest
  const std::string& source() const { return kernels_.front().source(); }
  Target target() const { return kernels_.front().target(); }

  bool has(Direction pass) const;
  // The kernels of one pass, sharing what was compiled; throws UserError when there is none.
  Program only(Direction pass) const;

  // What these kernels write for each other or for the backward pass: workspaces, and the saved states unless the
  // forward pass is elsewhere. They are passed to a launch like other tensors, so that it allocates nothing; their
  // contents before it do not matter.
  std::vector<TensorSpec> internals() const;

  // Launches every kernel on `stream`, as Kernel::launch does one: nothing is allocated and nothing waited for, and a
  // stream may be capturing, but at the first launch with tensors that are not aligned. Tensors come in the order of
  // manifest().tensors. Nothing is launched when one of them is not what it should be.
  void launch(std::span<const Tensor> tensors, LaunchSize size, StreamHandle stream = nullptr,
              Checks checks = Checks::layout) const;

  // The same for tensors by name, put in order at every launch.
  void launch(const NamedTensors& tensors, LaunchSize size, StreamHandle stream = nullptr,
              Checks checks = Checks::memory) const;

  // Tensors by name in the order that a launch takes them in. States and gradients of states may be missing or
  // Tensor{}; throws UserError when another is missing, or a name is none of the manifest's.
  std::vector<Tensor> in_order(const NamedTensors& tensors) const;

 private:
  // A kernel that reads an initial state when an earlier one has written a final state, which is therefore not the
  // same.
  struct LateReader {
    std::string kernel;
    std::size_t initial_state, final_state;  // among the tensors of manifest_
  };

  explicit Program(std::vector<Kernel> kernels);

  std::vector<LateReader> find_late_readers() const;
  void check_states_in_place(std::span<const Tensor> tensors) const;
  void run(std::size_t i, std::span<const Tensor> tensors, LaunchSize size, StreamHandle stream) const;

  std::vector<Kernel> kernels_;
  Manifest manifest_;
  LaunchPlan plan_;                               // of manifest_
  std::vector<std::vector<std::size_t>> places_;  // of each kernel's tensors among those of manifest_
  std::vector<LateReader> late_readers_;
};

}  // namespace wkvc
