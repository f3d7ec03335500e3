// The planned buffers of one chunk program as values of a kernel.
#pragma once

#include <llvm/ADT/StringMap.h>

#include "codegen/passes/place/PlacedProgram.h"

namespace wkvc {

class KernelBuffers {
 public:
  KernelBuffers(const PlacedProgram& of, mlir::OpBuilder& builder)
      : program_(of.program), plan_(of.shared), b_(builder) {}

  // Before they are declared: buffers, but what teams have for all rounds, lie in slots of the channel that they name.
  void lie_in(llvm::StringRef name, mlir::Value channel) { channels_[name] = channel; }
  void declare();                       // all but rings
  void declare_rings(bool everywhere);  // of one loop, or living in all phases
  // Before declare_rings: rings are those of another program of the kernel that has inputs of the same names.
  void share_rings(const KernelBuffers& other) { other_ = &other; }

  const SharedPlan& plan() const { return plan_; }

  // The values below exist once they are declared.
  mlir::Value value(const PlannedBuffer& buffer) const { return declared_.lookup(&buffer); }
  mlir::Value find(mlir::Value value) const;        // where it crosses to other warps; null if it does not
  mlir::Value maximum(llvm::StringRef name) const;  // the slots of an input's or a state's; null if nobody needs it
  mlir::Value number(const std::string& name) const;
  mlir::Value scratch(mlir::Operation* inverse) const { return value(plan_.scratch().find(inverse)->second); }
  mlir::Value sum(mlir::Operation* of) const { return value(plan_.sums().find(of)->second); }
  mlir::Value staged() const;  // null if no state is copied ahead

 private:
  mlir::Value channel_of(const SharedBuffer& space) const {
    return space.of_team ? mlir::Value() : channels_.lookup(space.channel);
  }
  void declare_floats(const PlannedBuffer& buffer, const std::string& name);
  void declare_tile(const PlannedBuffer& buffer);
  void declare_ring(chunk::InputOp input, const PlannedBuffer& ring, bool everywhere);
  void take_rings();

  // A new operation; takes any of its builders' arguments.
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(b_, program_.getLoc(), std::forward<Args>(args)...);
  }

  chunk::ProgramOp program_;
  const SharedPlan& plan_;
  mlir::OpBuilder& b_;
  llvm::StringMap<mlir::Value> channels_;  // by name; none in a kernel without teams
  const KernelBuffers* other_ = nullptr;
  llvm::DenseMap<const PlannedBuffer*, mlir::Value> declared_;
};

}  // namespace wkvc
