#include "codegen/pairs.h"

#include <set>
#include <vector>

#include "codegen/chunk/Chunk.h"
#include "codegen/nest/Guards.h"
#include "codegen/nest/Nest.h"
#include "codegen/warp/Warp.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

// Returns a name that a plain program or kernel shares with the refused one, and with no other.
std::string kind_of(chunk::ProgramOp program) {
  const char* pass = program.getRecompute() ? " recompute" : program.getBackward() ? " backward" : " forward";
  return program.getRecurrence().str() + pass + (program.getSummary() ? " summary" : "");
}
std::string kind_of(warp::KernelOp kernel) {
  std::string refusals;
  for (auto expect : kernel.getBody().getOps<warp::ExpectOp>()) refusals = expect.getTensor().str();
  for (auto only : kernel.getBody().getOps<warp::OnlyRefusedOp>()) refusals = only.getTensor().str();
  return kernel.getOp().str() + (kernel.getBackward() ? " backward " : " forward ") +
         (kernel.getSummary() ? "summary " : "") + refusals;
}
std::string kind_of(nest::KernelOp kernel) {
  return kernel.getRecurrence()->str() + " forward " + nest::refusals_of(kernel).str();
}

// The passes of one recurrence, each once. A placed program that recomputes states is that of the next program.
void check_distinct(ModuleOp module, bool placed) {
  std::set<std::string> kinds;
  for (Operation& op : *module.getBody()) {
    std::string kind;
    if (auto program = dyn_cast<chunk::ProgramOp>(op); program && !(placed && program.getRecompute()))
      kind = kind_of(program) + (program.getPlain() ? " plain" : "");
    if (auto kernel = dyn_cast<warp::KernelOp>(op)) kind = kernel.getSymName().str();
    if (!kind.empty() && !kinds.insert(kind).second)
      user_error("the text holds '{}' twice; expected each pass of one recurrence once", kind);
  }
}

// A program or kernel that refuses something, or does what another one refused.
struct Half {
  std::string kind;
  bool plain = false, refused = false;
  bool stands_alone = false;  // plain, and right where nothing is refused
};

Half half_of(chunk::ProgramOp program) {
  return {kind_of(program), program.getPlain().has_value(), program.getRefused()};
}
Half half_of(warp::KernelOp kernel) { return {kind_of(kernel), kernel.getPlain(), kernel.getRefused()}; }
Half half_of(nest::KernelOp kernel) {
  const bool guarded = kernel.getExpects().has_value();
  return {guarded ? kind_of(kernel) : "", guarded, false, guarded};
}

// Throws UserError unless each plain program or kernel has its refused one right behind it.
void check_halves(llvm::ArrayRef<Half> halves, llvm::StringRef what) {
  Half before;
  for (const Half& half : halves) {
    const bool follows = before.plain && half.refused && half.kind == before.kind;
    if (follows != ((before.plain && !before.stands_alone) || half.refused))
      user_error(
          "the text of this stage has a plain {0} without a refused one of the same pass right behind it, or a refused "
          "one without a plain one before it",
          what.str());
    before = half;
  }
  if (before.plain && !before.stands_alone)
    user_error("the text of this stage ends with a plain {}, whose refused one is missing", what.str());
}

void check_programs(ModuleOp module) {
  std::vector<Half> recomputing, others;
  for (auto program : module.getBody()->getOps<chunk::ProgramOp>())
    (program.getRecompute() ? recomputing : others).push_back(half_of(program));
  for (const auto& halves : {recomputing, others}) check_halves(halves, chunk::ProgramOp::getOperationName());
}

void check_kernels(ModuleOp module) {
  std::vector<Half> halves;
  for (Operation& op : *module.getBody()) {
    if (auto kernel = dyn_cast<warp::KernelOp>(op)) halves.push_back(half_of(kernel));
    if (auto kernel = dyn_cast<nest::KernelOp>(op)) halves.push_back(half_of(kernel));
  }
  check_halves(halves, warp::KernelOp::getOperationName());
}

}  // namespace

void check_pairs(ModuleOp module, bool placed) {
  check_distinct(module, placed);
  check_programs(module);
  check_kernels(module);
}

}  // namespace wkvc
