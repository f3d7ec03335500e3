#include "codegen/differentiate/KeptMatrices.h"

#include <llvm/ADT/StringSet.h>

#include "codegen/chunk/ChunkBuilder.h"
#include "codegen/chunk/DropUnused.h"
#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/rec/Names.h"

using namespace mlir;

namespace wkvc {

namespace {

bool is_rounded_to_f16(chunk::TrilOp matrix) {
  return llvm::all_of(matrix->getUsers(), [](Operation* user) {
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

// That of each program; none unless all have it, and not yet the symbol that it is to be kept under.
std::vector<chunk::TrilOp> matrices_of(llvm::ArrayRef<chunk::ProgramOp> programs, llvm::StringRef name,
                                       llvm::StringRef kept) {
  std::vector<chunk::TrilOp> matrices;
  for (auto program : programs) {
    auto matrix = matrix_of(program, name);
    if (!matrix || has_symbol(program, kept)) return {};
    matrices.push_back(matrix);
  }
  return matrices;
}

// Throws UserError where a program keeps a matrix that its schedule has made again. Differentiation settles that.
void expect_kept(chunk::ProgramOp program) {
  if (program.getSchedule().checkpoint.matrices == Matrices::kept) return;
  for (Operation& op : program.getBody().front())
    if (op.hasAttr("kept"))
      user_error_at(&op,
                    "'{}' keeps '{}', but its schedule says checkpoint(matrices = again): leave that out, or say so in "
                    "of_gradients before the program is differentiated (wkvc emit OP --pass both --after schedule)",
                    program.getRecurrence().str(), chunk::symbol(&op).str());
}

}  // namespace

// Texts may call a value what no tensor can be called.
std::vector<std::pair<std::string, Value>> kept_inverses(chunk::ProgramOp forward) {
  std::vector<std::pair<std::string, Value>> inverses;
  if (forward.getOfGradients().checkpoint.matrices == Matrices::again) return inverses;
  llvm::StringSet<> taken;
  taken.insert("saved_states");
  for (auto inverse : forward.getBody().getOps<chunk::UnitLowerInverseOp>()) {
    std::string name = "saved_" + name_of(inverse.getResult()).str();
    for (int i = 0; rec::name_fault(name) || !taken.insert(name).second; ++i) name = fmt::format("saved_inverse{}", i);
    inverses.emplace_back(name, inverse);
  }
  return inverses;
}

// An inverse of keys that are like each other grows no further than the states that they make. Where one team's
// registers are short, of heads of 128, one more conversion made 132 instead of 100 bytes of them spill.
llvm::StringRef kept_dtype(chunk::ProgramOp forward) {
  const Schedule schedule = forward.getOfGradients();
  const bool in_terms = schedule.checkpoint.dtype == DType::f16 && schedule.by_teams();
  return in_terms ? llvm::StringRef(LowerF16x2Type::word) : "f32";
}

void read_kept(Value x, llvm::StringRef name, llvm::StringRef dtype) {
  OpBuilder b(x.getDefiningOp());
  auto whole = cast<RankedTensorType>(x.getType());
  auto stored = RankedTensorType::get(whole.getShape(), element_type(b.getContext(), dtype));
  Value kept = chunk::InputOp::create(b, x.getLoc(), stored, name, "T", StringAttr(), /*kept=*/true);
  if (stored != whole) kept = chunk::WidenOp::create(b, x.getLoc(), whole, kept);
  set_name(kept, name_of(x));
  x.replaceAllUsesWith(kept);
  x.getDefiningOp()->erase();
}

void keep_matrices(llvm::ArrayRef<chunk::ProgramOp> programs) {
  for (auto program : programs) expect_kept(program);
  std::vector<chunk::ProgramOp> forward, readers;
  chunk::ProgramOp again;
  for (auto program : programs) {
    if (program.getSummary()) continue;
    if (!program.getBackward() && !program.getRecompute()) forward.push_back(program);
    if ((program.getBackward() || program.getRecompute()) && program.getPlain()) readers.push_back(program);
    if (program.getRecompute() && program.getPlain()) again = program;
  }
  if (!again || !again.getSchedule().by_teams()) return;
  if (again.getSchedule().checkpoint.matrices == Matrices::again) return;
  for (auto matrix : llvm::make_early_inc_range(again.getBody().getOps<chunk::TrilOp>())) {
    const std::string name = name_of(matrix.getResult()).str(), kept = "saved_" + name;
    if (name.empty() || rec::name_fault(kept)) continue;
    const auto made = matrices_of(forward, name, kept), read = matrices_of(readers, name, kept);
    if (made.empty() || read.empty() || !llvm::all_of(read, is_rounded_to_f16)) continue;
    for (chunk::TrilOp of_forward : made) {
      OpBuilder b = OpBuilder::atBlockEnd(of_forward->getBlock());
      chunk::OutputOp::create(b, b.getUnknownLoc(), kept, of_forward, "f16", StringAttr(), /*kept=*/true);
    }
    for (chunk::TrilOp of_reader : read) read_kept(of_reader, kept, "f16");
  }
  for (auto program : readers) drop_dead_values(program);
}

}  // namespace wkvc
