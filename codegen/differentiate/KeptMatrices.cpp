#include "codegen/differentiate/KeptMatrices.h"

#include "codegen/differentiate/Differentiate.h"
#include "codegen/ir/Text.h"
#include "codegen/lower/DropUnused.h"
#include "codegen/rec/Names.h"

using namespace mlir;

namespace wkvc {

namespace {

bool is_rounded_to_f16(Value x) {
  return llvm::all_of(x.getUsers(), [](Operation* user) {
    auto round = dyn_cast<chunk::RoundOp>(user);
    return round && chunk::element(round.getResult()).isF16();
  });
}

// The contraction of that name, of which one half is left; null if there is none, or several.
chunk::TrilOp matrix_of(chunk::ProgramOp program, llvm::StringRef name) {
  chunk::TrilOp found;
  for (auto matrix : program.getBody().getOps<chunk::TrilOp>()) {
    if (name_of(matrix.getResult()) != name || !matrix.getX().getDefiningOp<chunk::DotOp>()) continue;
    if (found) return {};
    found = matrix;
  }
  return found;
}

bool has_symbol(chunk::ProgramOp program, llvm::StringRef name) {
  return llvm::any_of(program.getBody().front(), [&](Operation& op) {
    auto sym = op.getAttrOfType<StringAttr>("sym");
    return sym && sym.getValue() == name;
  });
}

// Those that make a matrix and those that read it.
struct Programs {
  std::vector<chunk::ProgramOp> forward, readers;

  explicit Programs(const std::vector<chunk::ProgramOp>& all) {
    for (auto program : all) {
      if (program.getSummary()) continue;
      if (!program.getBackward() && !program.getRecompute())
        forward.push_back(program);
      else if (program.getPlain())
        readers.push_back(program);
    }
  }

  bool have(llvm::StringRef name, llvm::StringRef kept) const {
    auto has = [&](chunk::ProgramOp program) { return matrix_of(program, name) && !has_symbol(program, kept); };
    return llvm::all_of(forward, has) && llvm::all_of(readers, has) && !forward.empty() &&
           llvm::all_of(readers, [&](auto program) { return is_rounded_to_f16(matrix_of(program, name)); });
  }
};

}  // namespace

void keep_matrices(const std::vector<chunk::ProgramOp>& programs) {
  auto recompute = llvm::find_if(programs, [](auto program) { return program.getRecompute() && program.getPlain(); });
  if (recompute == programs.end()) return;
  const Programs found(programs);
  chunk::ProgramOp again = *recompute;
  for (auto matrix : llvm::make_early_inc_range(again.getBody().getOps<chunk::TrilOp>())) {
    const std::string name = name_of(matrix.getResult()).str(), kept = "saved_" + name;
    if (name.empty() || rec::name_fault(kept) || !found.have(name, kept)) continue;
    for (auto program : found.forward) {
      OpBuilder b = OpBuilder::atBlockEnd(&program.getBody().front());
      chunk::OutputOp::create(b, b.getUnknownLoc(), kept, matrix_of(program, name), "f16", StringAttr(), /*kept=*/true);
    }
    for (auto program : found.readers) read_kept(matrix_of(program, name), kept, "f16");
  }
  for (auto program : found.readers) drop_dead_values(program);
}

}  // namespace wkvc
