#include "codegen/passes/place/memory/MemoryChoices.h"

#include "codegen/ir/Where.h"
#include "codegen/passes/place/Plan.h"

namespace wkvc {

namespace {

bool is_for_wide(Stored stored) { return stored == Stored::exponentials || stored == Stored::factors; }

std::string text_of(Stored keep) { return value_text(*find_field("memory", "keep"), static_cast<int>(keep)); }
std::string text_of(Ahead prefetch) {
  return value_text(*find_field("memory", "prefetch"), static_cast<int>(prefetch));
}

}  // namespace

llvm::SmallVector<Schedule::Memory> MemoryChoices::for_schedule(const Schedule::Memory& wanted) const {
  llvm::SmallVector<Schedule::Memory> choices;
  for (const Stored keep :
       {Stored::exponentials, Stored::activations, Stored::sums, Stored::factors, Stored::contractions}) {
    if (wanted.keep == Stored::automatic ? !wide && is_for_wide(keep) : wanted.keep != keep) continue;
    for (const Ahead prefetch : all()) {
      // What is copied ahead is worth more than anything that is kept but exponentials.
      const bool is_open = prefetch == Ahead::none
                               ? keep == Stored::contractions
                               : llvm::is_contained(prefetches, prefetch) || keep == Stored::exponentials;
      if (wanted.prefetch == Ahead::automatic ? is_open : wanted.prefetch == prefetch)
        choices.push_back({keep, prefetch});
    }
  }
  return choices;
}

llvm::SmallVector<Ahead> MemoryChoices::all() const {
  llvm::SmallVector<Ahead> all = prefetches;
  if (!llvm::is_contained(all, Ahead::inputs)) all.insert(llvm::find(all, Ahead::none), Ahead::inputs);
  return all;
}

std::string MemoryChoices::text() const {
  const llvm::SmallVector<Ahead> possible_ahead = all();
  llvm::SmallVector<std::string> possible;
  for (const Ahead prefetch : llvm::reverse(possible_ahead)) possible.push_back(text_of(prefetch));
  return alternatives(possible);
}

void MemoryChoices::expect_automatic(chunk::ProgramOp program) const {
  const Schedule::Memory wanted = program.getSchedule().memory;
  if (wanted == Schedule::Memory{}) return;
  user_error_at(program,
                "the schedule of '{}' asks for memory(keep = {}, prefetch = {}), for which its kernel has no room, or "
                "which it can't copy ahead: it may keep less, contractions at least, and prefetch {}; automatic is the "
                "compiler's choice",
                program.getRecurrence().str(), text_of(wanted.keep), text_of(wanted.prefetch), text());
}

void MemoryChoices::expect(chunk::ProgramOp program, Ahead prefetch) const {
  if (llvm::is_contained(all(), prefetch)) return;
  user_error_at(program,
                "the schedule of '{}' has memory(prefetch = {}), which its kernel can't copy ahead; expected {}",
                program.getRecurrence().str(), text_of(prefetch), text());
}

}  // namespace wkvc
