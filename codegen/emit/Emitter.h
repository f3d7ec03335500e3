// Writes the body of one kernel as CUDA C++. (Emit.cpp: the kernel, names, which function writes an operation.)
#pragma once

#include <map>

#include "codegen/emit/Batches.h"
#include "codegen/emit/Copies.h"
#include "codegen/emit/Expressions.h"
#include "codegen/emit/Header.h"
#include "codegen/ir/Text.h"
#include "codegen/target/Target.h"
#include "codegen/warp/Warp.h"
#include "runtime/error.h"

namespace wkvc {

// In templates/, what a segment does to the state before it.
const char* map_text(llvm::StringRef kind);

class Emitter {
 public:
  explicit Emitter(warp::KernelOp kernel)
      : kernel_(kernel), manifest_(manifest_of(kernel)), expressions_(names_, value_row()) {}
  std::string run();

 private:
  bool is_cut() { return kernel_.getSegments() > 1; }
  bool has_teams() { return kernel_.isByTeams(); }
  bool goes_ahead() { return kernel_.getRounds() > 1; }
  bool is_cluster() { return kernel_.getCluster() > 1; }
  // Who copies, and whose shared memory rings lie in: of the first round, where they go by turns.
  const char* copier() { return goes_ahead() ? "teams" : has_teams() ? "team" : "block"; }
  // Whose memory a ring or buffer lies in: that of all rounds, or of the one whose slot is at hand.
  static const char* memory_of(mlir::Value shared, const char* slot) {
    return warp::is_of_team(shared) ? "teams" : slot;
  }
  // Chunks before the round, of those that the block goes through.
  std::string before_round() { return is_cut() ? "first - begin" : "first"; }
  const char* value_row() { return kernel_.getSummary() ? "value_row0" : "row0"; }
  // Whether there are registers for where each tensor lies: beside states of wide heads there are none.
  bool keeps_places() { return !sm_90a.is_wide(kernel_.getKeyDim()); }
  std::string begin() { return is_cut() ? "begin" : "0"; }
  std::string end() { return is_cut() ? "end" : "chunks"; }
  std::string last_segment() { return kernel_.getBackward() ? "0" : "block.segments - 1"; }
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += std::string(indent_, ' ') + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  std::string expr(mlir::Value value) const { return expressions_.of(value); }
  const std::string& tensor(llvm::StringRef name) const;
  std::string wish(mlir::Value value) const;
  std::string declare(mlir::Value value) { return names_.declare(value, wish(value)); }
  // Of what several regions declare, each for itself: the same name.
  std::string declare_again(mlir::Value value) {
    return names_.of(value).empty() ? names_.declare_everywhere(value, wish(value)) : names_.of(value);
  }
  void emit_block(mlir::Block& block) { emit_all(llvm::make_range(block.begin(), block.end())); }
  void emit_all(llvm::iterator_range<mlir::Block::iterator> ops);
  void call(const std::string& start, const std::vector<std::string>& arguments);
  void emit_region(mlir::Region& region);
  void emit(mlir::Operation& op);
  void write_note(llvm::StringRef note);
  // A row has its numbers side by side.
  static bool is_number(mlir::Type vector) { return cast<mlir::VectorType>(vector).getNumElements() == 1; }
  static bool is_row(mlir::Type vector) { return cast<mlir::VectorType>(vector).getDimSize(0) == 1; }
  static int64_t length(mlir::Type vector) { return cast<mlir::VectorType>(vector).getNumElements(); }
  // The first of 16 numbers: those of a slab, or of this warp's value rows.
  std::string place(mlir::Value column) { return column ? names_.of(column) : value_row(); }
  const TensorSpec& spec_of(llvm::StringRef name) const;

  // EmitControl.cpp: which warps do what is written, and over which chunks.
  void write_rows();
  void write_team();
  bool leaves_out_rounds();
  void write_meeting();
  void write_chunk_range();
  void write(warp::BarrierOp op);
  void write(warp::AcquireOp op);
  void write(warp::GetOp op);
  void leave_out(std::initializer_list<const char*> statements);
  std::string first_chunk(bool backward);
  std::string chunk_ahead(bool backward, uint64_t ahead);
  std::string is_in_loop(const std::string& chunk, bool backward);
  void declare_state(warp::SweepOp op);
  void write(warp::SweepOp op);
  void write_both(warp::SweepOp op, warp::SweepOp beside);
  void write_groups(warp::SweepOp op);
  void write(warp::RoleOp op);
  void write_rounds(mlir::Region& body, bool backward);
  void write(warp::TeamOp op);
  std::string lowest_group();
  void write_chunks(warp::SweepOp op);
  void begin_chunk(warp::SweepOp op);
  void write(warp::YieldOp op);
  void write(warp::SlabsOp op);
  void write(warp::ShareOp op);
  void write(warp::OnWarpOp op);
  void write(warp::AgainOp op);

  // EmitMemory.cpp: what is copied, loaded and stored.
  static constexpr size_t kLongestLine = 100;
  void write_places();
  std::string place_of(mlir::Value shared) const { return places_.lookup(shared.getDefiningOp()); }
  void write_output_rows();
  void write(warp::RingOp op);
  std::string slots_text(mlir::Value slots);
  std::string copied(warp::RingOp ring);
  void write_copies(const AlikeRings& rings);
  void write_buffer(warp::BufferOp op, const char* memory);
  void write_buffer(warp::FloatsOp op, const char* memory);
  void write_buffers_of(mlir::Region& region, const char* memory);
  void write(warp::CopyOp op);
  std::pair<std::string, std::string> next_chunk(warp::CopyOp op);
  void write(warp::CurrentOp op);
  void write(warp::PublishMaxOp op);
  std::string largest_in(mlir::Value slots);
  void write(warp::StoreNumberOp op);
  void write(warp::LoadNumberOp op) { line("const float {} = *{};", declare(op.getResult()), names_.of(op.getFrom())); }
  void write(warp::LoadOp op) { line("const auto {} = {};", declare(op.getResult()), expressions_.load(op)); }
  void write(warp::StoreOp op);
  void write(warp::LoadVectorOp op);
  std::string in_slot(const std::string& chunk, mlir::Value floats);
  std::vector<std::string> in_all_slots(mlir::Value floats);
  void write(warp::JoinRowsOp op);
  void write(warp::LoadJoinedOp op);
  void write(warp::StoreVectorOp op);
  void store_vector(warp::StoreVectorOp op, std::string to);
  void write(warp::AddVectorOp op);
  void write(warp::TokensOp op);
  void write(warp::StoreMatrixOp op);
  void write(warp::StoreTokensOp op);
  void write(warp::StoreSumOp op);
  std::string kept_row(llvm::StringRef name, std::string chunk);
  std::string keep(mlir::Type dtype);
  void write(warp::StagedOp op);
  void write(warp::CopySavedOp op);
  void write(warp::LoadStagedOp op);
  void write(warp::LoadSavedOp op);
  void write(warp::StageStateOp op);
  void write(warp::KeepStateOp op);
  void write(warp::SaveStateOp op);
  void write(warp::StoreIntermediateOp op);
  void write(warp::ParameterOp op);
  void write(warp::LoadStateOp op);
  std::string state_row(llvm::StringRef name) const;
  void write(warp::StartSummaryOp op);
  void write(warp::StoreStateOp op);
  void write(warp::StoreOutputOp op);

  // EmitTiles.cpp: what is computed.
  void write(warp::OnlyRefusedOp op) { line("if (!is_refused({}, block)) return;", tensor(op.getTensor())); }
  std::string sample(llvm::StringRef name);
  void expect(const std::string& start, mlir::ArrayAttr names);
  void write(warp::ExpectOp op);
  void write(warp::RefuseOp op);
  void write(warp::TimesUnitOp op);
  void write(warp::TimesPowerOp op);
  void write(warp::PlusExponentOp op);
  void write(warp::ScaleForOp op);
  void write(warp::OwnScaleOp op);
  void write(warp::ScaleOfOp op) { line("const float {} = *{}.scale;", declare(op.getResult()), names_.of(op.getX())); }
  void write(warp::RoundBesideOp op);
  void write(warp::FitScaleOp op);
  void write(warp::LeaveScaleOp op);
  void write(warp::BoundOp op);
  void write(warp::CallOp op);
  void write(warp::DecayingOp op);
  void write(warp::SettledOp op) { line("const auto {} = settled({});", declare(op.getResult()), expr(op.getX())); }
  void write(warp::UnitLowerInverseOp op);
  void write(warp::RoundOp op) { line("const auto {} = {};", declare(op.getResult()), expressions_.statement(op)); }
  void write(warp::WithScaleOp op) { line("auto {} = {};", declare(op.getResult()), expressions_.statement(op)); }
  void write(warp::WithoutScaleOp op);
  void write(warp::TransposeOp op);
  void write(warp::WidenOp op);
  void write(warp::WidenOverOp op);
  void write(warp::ZerosOp op);
  static bool is_accumulator(mlir::Value value);
  std::string operands(warp::MmaOp op);
  std::string begin_sum(warp::MmaOp op);
  void write_equation(const std::string& sum, llvm::ArrayRef<warp::MmaOp> terms);
  void write_by_groups(warp::MmaOp first);
  void write(warp::MmaOp op);
  void write(warp::ColumnDotsOp op);

  warp::KernelOp kernel_;
  Manifest manifest_;
  Identifiers names_;
  Expressions expressions_;
  std::map<std::string, std::string> tensors_, output_rows_;             // name → variable
  llvm::DenseMap<mlir::Operation*, std::string> places_, scale_places_;  // constants, of buffers and their scales
  Copiers copiers_;
  std::string text_;
  int indent_ = 0;
  const char* warps_ = "block";  // those that do what is written: the block's or a team's
  bool goes_again_ = warp::goes_again(kernel_);
  warp::SweepOp loop_;  // over chunks, around what is written
  bool in_groups_ = false, in_rounds_ = false;
};

}  // namespace wkvc
