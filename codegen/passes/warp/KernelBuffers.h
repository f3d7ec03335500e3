// The shared memory of one chunk program in a kernel: planned before there are offsets, declared once there are.
#pragma once

#include <llvm/ADT/MapVector.h>

#include <deque>
#include <map>
#include <string>

#include "codegen/passes/place/Placement.h"
#include "codegen/passes/place/Plan.h"
#include "codegen/warp/SharedMemory.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// Its value exists once it is declared.
struct KernelBuffer {
  SharedBuffer* space = nullptr;
  SharedBuffer* scale = nullptr;  // floats beside it, for the scale of an f16 tile or of each of its slabs
  llvm::StringRef slabs;          // "rows" or "columns" if it has one for each
  int stages = 1;                 // of a ring, and the warp that copies it
  int warp = 0;
  bool exchanged = false;
  bool early = false;
  mlir::MemRefType type;
  mlir::Value value;
};

class KernelBuffers {
 public:
  // `saved`: the dtype of saved states. `spaces`: of the whole kernel, in which this program's phases begin with
  // `first_phase`.
  // Teams of warps have a slot each, with everything of one chunk.
  KernelBuffers(chunk::ProgramOp program, const Placement& placement, mlir::OpBuilder& builder, const Plan& plan,
                mlir::Type saved, std::deque<SharedBuffer>& spaces, int first_phase)
      : program_(program),
        placement_(placement),
        b_(builder),
        plan_(plan),
        saved_(saved),
        spaces_(spaces),
        first_phase_(first_phase) {}

  // All but the staged state and numbers. With `early` rings that only the first phase reads are there to be copied to
  // after it, or where states are held in registers in the last phase, in that one.
  void plan(bool early);
  // Before plan: another program, which takes states through some rounds again, comes between this one's rounds, and
  // has its inputs in the same rings.
  void go_again() { goes_again_ = true; }
  bool goes_again() const { return goes_again_; }
  bool copies_last() const { return copies_last_; }  // in the last phase, for the next round
  // Before plan: inputs lie where another program of the kernel has those of the same name.
  void share_rings(const KernelBuffers& other) { other_ = &other; }
  bool are_read_first() const;                // inputs, in the first phase alone
  void plan_number(const std::string& name);  // that a team leaves for those who take the state through its chunk
  // Room for a state that is copied ahead. It is copied again when it has been read: in the second phase, if there is
  // one.
  void stage_state(const std::string& name);
  // What is copied in one loop for the next, or summed over all, is in use up to the kernel's last phase.
  void keep_copies_until(int phase);
  void keep_sums_until(int phase);

  void declare();                       // all but rings
  void declare_rings(bool everywhere);  // of one loop, or living in all phases

  // By input, by parameter's gradient, in the program's order.
  const llvm::MapVector<mlir::Value, KernelBuffer>& rings() const { return rings_; }
  const llvm::MapVector<mlir::Operation*, KernelBuffer>& sums() const { return sums_; }
  const llvm::MapVector<mlir::Value, KernelBuffer>& values() const { return values_; }
  const KernelBuffer* find(mlir::Value value) const;  // where it crosses to other warps; null if it does not
  mlir::Value maximum(llvm::StringRef name) const;    // the slots of an input's or a state's; null if nobody needs it
  mlir::Value number(const std::string& name) const;
  mlir::Value scratch(mlir::Operation* inverse) const { return scratch_.lookup(inverse).value; }
  mlir::Value staged() const { return staged_.value; }  // null if no state is copied ahead

 private:
  bool are_apart() const;
  bool are_read_before_last() const;
  void plan_rings(bool early);
  void take_rings();
  void deal_rings();
  void plan_maximum(llvm::StringRef name);
  void plan_maxima();
  void plan_sums();
  void plan_values();
  void plan_scratch();
  KernelBuffer planned(mlir::Operation* op);
  bool is_of_team(int last_phase) const;  // what is read up to there
  SharedBuffer* reserve(const std::string& name, std::int64_t bytes, int from, int to);
  void declare_floats(KernelBuffer& buffer, const std::string& name);
  void declare_tile(KernelBuffer& buffer);
  mlir::MemRefType floats_type(int64_t count) const;
  mlir::MemRefType shared_type(int64_t rows, int64_t columns, mlir::Type element) const;

  // A new operation; takes any of its builders' arguments.
  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(b_, program_.getLoc(), std::forward<Args>(args)...);
  }

  chunk::ProgramOp program_;
  const Placement& placement_;
  mlir::OpBuilder& b_;
  Plan plan_;
  mlir::Type saved_;
  std::deque<SharedBuffer>& spaces_;
  int first_phase_;
  const KernelBuffers* other_ = nullptr;
  llvm::MapVector<mlir::Value, KernelBuffer> rings_, values_;
  std::map<std::string, KernelBuffer> maxima_, numbers_;
  KernelBuffer staged_;
  bool copies_last_ = false, goes_again_ = false;
  llvm::MapVector<mlir::Operation*, KernelBuffer> scratch_;
  llvm::MapVector<mlir::Operation*, KernelBuffer> sums_;
};

}  // namespace wkvc
