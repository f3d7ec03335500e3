#include "codegen/passes/chunk_to_warp/TensorList.h"

#include <fmt/format.h>
#include <mlir/IR/Builders.h>

#include <deque>

#include "codegen/chunk/Axes.h"
#include "codegen/chunk/ChunkBuilder.h"
#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "runtime/manifest/layout.h"
#include "runtime/manifest/refusal_names.h"

using namespace mlir;

namespace wkvc {

std::string parts_name(chunk::AccumulateOp op) { return op.getSym().str() + "_parts"; }

std::string stored_name(chunk::OutputOp op) { return op.getSym().str() + (op.isSummed() ? "_parts" : ""); }

llvm::StringRef first_state(chunk::ProgramOp program) {
  return program.getBackward() ? "dfinal_state" : "initial_state";
}
llvm::StringRef last_state(chunk::ProgramOp program) {
  return program.getBackward() ? "dinitial_state" : "final_state";
}

namespace {

// Of what segments leave each other, per sequence: the maps of their summaries are behind the states.
std::string segment_dims(chunk::ProgramOp program, int64_t maps) {
  return fmt::format("B,H,{},{},K", program.getSegments(), program.getValueDim() + maps);
}

class TensorList {
 public:
  TensorList(chunk::ProgramOp program, chunk::ProgramOp recompute, bool keeps_states, int64_t maps) {
    const StoredStates states = states_of(program);
    add_all(program);
    if (recompute) add_all(recompute);
    bool backward = program.getBackward(), cut = program.getSegments() > 1;
    bool saves = backward ? !program.getBody().getOps<chunk::SavedStateOp>().empty() : program.getSavedEvery() > 0;
    if (program.getPlain() || program.getRefused())
      add("workspace", refused_name(program), "f32", fmt::format("B,H,{},1", program.getSegments()));
    if (cut) add("workspace", segments_name(program), "f32", segment_dims(program, maps));
    if (program.getSummary()) return;
    if (saves) add("saved_states", kSavedStates, program.getSaved().str(), "B,H,N,V,K");
    if (keeps_states) expect_near_segments(program);
    if (keeps_states) add("workspace", kRecomputed, program.getSaved().str(), of_each_segment(program, "G,V,K"));
    const std::string dtype = backward ? "f32" : states.dtype;
    if (!cut) add(backward ? "final_state_gradient" : "initial_state", first_state(program), dtype, states.dims);
    add(backward ? "initial_state_gradient" : "final_state", last_state(program), dtype, states.dims);
    if (program.getStatesEvery() > 0)
      add("intermediate_states", "intermediate_states", states.dtype, "B,M" + states.dims.substr(1));
  }

  ArrayAttr attribute(MLIRContext* context) const {
    llvm::SmallVector<llvm::StringRef> list(texts_.begin(), texts_.end());
    return Builder(context).getStrArrayAttr(list);
  }

 private:
  // Throws UserError where the states of a segment's group leave the next segment's too far away for a kernel.
  static void expect_near_segments(chunk::ProgramOp program) {
    constexpr int64_t most = row_distance_limit - 1;  // numbers
    const auto state = static_cast<int64_t>(program.getKeyDim() * program.getValueDim());
    const auto every = static_cast<int64_t>(program.getSavedEvery()), chunk = static_cast<int64_t>(program.getChunk());
    if (program.getSegments() == 1 || every * state <= most) return;
    user_error_at(program,
                  "--save-every {} with --segments: a segment keeps the states of {} chunks, {} numbers each, and may "
                  "keep {} numbers: give --save-every {} or less",
                  every * chunk, every, state, most, most / state * chunk);
  }

  void add(llvm::StringRef role, llvm::StringRef name, const std::string& dtype, const std::string& dims) {
    std::string text = fmt::format("{} {} {} {}", role.str(), name.str(), dtype, dims);
    if (!llvm::is_contained(texts_, text)) texts_.push_back(text);
  }

  // What a block has for itself.
  static std::string of_each_segment(chunk::ProgramOp program, llvm::StringRef dims) {
    if (program.getSegments() == 1) return "B,H," + dims.str();
    return fmt::format("B,H,{},{}", program.getSegments(), dims.str());
  }

  void add_all(chunk::ProgramOp program) {
    Spaces spaces = infer_spaces(program);
    for (Operation& op : program.getBody().front()) add(program, op, spaces);
  }

  void add(chunk::ProgramOp program, Operation& op, const Spaces& spaces) {
    auto per_token = [&](char dim, bool shared = false) {
      const std::string outer = shared ? "B,T,S" : "B,T,H";
      if (dim == 'T') return fmt::format("{},{}", outer, program.getChunk());
      return dim == '1' ? outer : fmt::format("{},{}", outer, dim);
    };
    if (auto input = dyn_cast<chunk::InputOp>(op))
      add(input.getKept()         ? "kept"
          : input.getGradientOf() ? "output_gradient"
          : input.getOfHead()     ? "parameter"
                                  : "input",
          input.getSym(), dtype_text(in_tensors(chunk::element(input.getResult()))),
          input.getOfHead() ? "H" : per_token(input.getDim()[0], input.getShared()));
    if (auto parameter = dyn_cast<chunk::ParameterOp>(op))
      add("parameter", parameter.getSym(), dtype_text(chunk::element(parameter.getResult())),
          "H," + parameter.getDim().str());
    if (auto output = dyn_cast<chunk::OutputOp>(op))
      add(output.isSummed()        ? "workspace"
          : output.getKept()       ? "kept"
          : output.getGradientOf() ? "input_gradient"
                                   : "output",
          stored_name(output),
          output.isSummed() ? "f32" : dtype_text(in_tensors(element_type(program.getContext(), output.getDtype()))),
          per_token(dims_of(spaces.lookup(output.getX()))[1]));
    if (auto sum = dyn_cast<chunk::AccumulateOp>(op))
      add("workspace", parts_name(sum), "f32", of_each_segment(program, dims_of(spaces.lookup(sum.getX())).substr(1)));
  }

  std::deque<std::string> texts_;
};

}  // namespace

const char* segments_name(chunk::ProgramOp program) {
  return program.getBackward() ? "segment_gradients" : "segment_states";
}

llvm::StringRef refused_name(chunk::ProgramOp program) {
  return refusals_name(program.getBackward(), program.getSummary().has_value());
}

StoredStates states_of(chunk::ProgramOp program) {
  return {program.getStateDtype().str(), program.getStateLayout() == "kv" ? "B,H,K,V" : "B,H,V,K"};
}

ArrayAttr tensor_list(chunk::ProgramOp program, chunk::ProgramOp recompute, bool keeps_states, int64_t maps) {
  return TensorList(program, recompute, keeps_states, maps).attribute(program.getContext());
}

}  // namespace wkvc
