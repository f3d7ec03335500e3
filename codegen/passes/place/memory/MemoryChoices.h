// What a kernel may keep in shared memory, and what it may copy ahead.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

struct MemoryChoices {
  llvm::SmallVector<Ahead> prefetches;  // from most to least; inputs alone are always possible, before none
  bool wide;  // registers of wide heads are short, and a load takes fewer than computing again

  // Returns the choices from most to least: those of the schedule, where it leaves some open.
  llvm::SmallVector<Schedule::Memory> for_schedule(const Schedule::Memory& wanted) const;

  // Throws UserError for a schedule that is not automatic: none of the choices for it fits.
  void expect_automatic(chunk::ProgramOp program) const;

  // Throws UserError where the program can't prefetch so much.
  void expect(chunk::ProgramOp program, Ahead prefetch) const;

 private:
  llvm::SmallVector<Ahead> all() const;  // prefetches, and inputs alone
  std::string text() const;              // of all prefetches, for people
};

}  // namespace wkvc
