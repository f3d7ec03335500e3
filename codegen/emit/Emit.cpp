#include "codegen/emit/Emit.h"

#include <llvm/ADT/TypeSwitch.h>

#include "codegen/emit/Emitter.h"
#include "codegen/ir/Where.h"
#include "codegen/warp/Variables.h"

using namespace mlir;

namespace wkvc {

// Returns what comes before a kernel: the number of parts of a head, if there are several, and the templates.
static std::string preamble(const Manifest& manifest) {
  const std::string parts = manifest.parts > 1 ? fmt::format("#define WKVC_PARTS {}\n", manifest.parts) : "";
  return parts + "#include \"wkvc/tile.h\"\n\nusing namespace wkvc;\n\n";
}

std::string Emitter::run() {
  for (const char* used :
       {"args",      "block", "team",   "teams", "slot",  "c",    "chunks",   "begin",      "end",   "first", "last",
        "round_end", "step",  "before", "g",     "valid", "row0", "of_state", "value_row0", "Slots", "guard"})
    names_.unique(used);
  text_ = header_comment(kernel_) + preamble(manifest_);
  line("WKVC_KERNEL({}, {}, {}, {}{}) {{", manifest_.kernel, manifest_.tensors.size(), manifest_.warps,
       kernel_.getBlocks(), is_cluster() ? fmt::format(", {}", kernel_.getCluster()) : "");
  indent_ = 2;
  for (size_t i = 0; i < manifest_.tensors.size(); ++i) {
    tensors_[manifest_.tensors[i].name] = names_.unique(manifest_.tensors[i].name + "_global");
    line("const TensorArg& {} = args.tensor[{}];", tensors_[manifest_.tensors[i].name], i);
  }
  write_output_rows();
  write_rows();
  write_chunk_range();
  write_team();
  write_places();
  emit_block(kernel_.getBody().front());
  if (!kernel_.getPlain()) write_meeting();  // whose blocks have met before they leave a state
  indent_ = 0;
  line("}}");
  return text_;
}

const std::string& Emitter::tensor(llvm::StringRef name) const {
  auto it = tensors_.find(name.str());
  if (it == tensors_.end()) user_error("kernel: '{}' is not among its tensors", name.str());
  return it->second;
}

// A variable's name: the value's own, or that of the nearest named value it turns into.
std::string Emitter::wish(Value value) const {
  std::string suffix;
  for (int hops = 0; hops < 8; ++hops) {
    if (auto name = name_of(value); !name.empty()) return name.str() + suffix;
    if (!value.hasOneUse() || !isa_and_nonnull<warp::ZerosOp, warp::MmaOp>(value.getDefiningOp())) break;
    Operation* user = *value.user_begin();
    if (user->getNumResults() != 1) break;
    if (!isa<warp::MmaOp>(user)) suffix = "_sum";
    value = user->getResult(0);
  }
  return "t";
}

void Emitter::emit_all(llvm::iterator_range<Block::iterator> ops) {
  for (Operation& op : ops)
    if (!warp::is_inlined(&op) && !joins_last(op)) emit(op);
}

// A call with each of the last arguments in a line of its own.
void Emitter::call(const std::string& start, const std::vector<std::string>& arguments) {
  line("{}", start);
  for (const std::string& argument : arguments) line("    {}{}", argument, &argument == &arguments.back() ? ");" : ",");
}

void Emitter::emit_region(Region& region) {
  indent_ += 2;
  names_.open_block();
  emit_block(region.front());
  names_.close_block();
  indent_ -= 2;
  line("}}");
}

void Emitter::emit(Operation& op) {
  llvm::TypeSwitch<Operation*>(&op)
      .Case<warp::RingOp, warp::SweepOp, warp::TeamOp, warp::AgainOp, warp::RoleOp, warp::YieldOp, warp::SlabsOp,
            warp::ShareOp, warp::OnWarpOp, warp::CopyOp, warp::CurrentOp, warp::PublishMaxOp, warp::ScaleForOp,
            warp::OwnScaleOp, warp::ScaleOfOp, warp::RoundBesideOp, warp::FitScaleOp, warp::LeaveScaleOp, warp::BoundOp,
            warp::StoreNumberOp, warp::LoadNumberOp, warp::LoadOp, warp::StoreOp, warp::LoadVectorOp, warp::JoinRowsOp,
            warp::LoadJoinedOp, warp::StoreVectorOp, warp::AddVectorOp, warp::ParameterOp, warp::TokensOp,
            warp::LoadSavedOp, warp::StagedOp, warp::CopySavedOp, warp::LoadStagedOp, warp::SaveStateOp,
            warp::StoreIntermediateOp, warp::StageStateOp, warp::KeepStateOp, warp::StoreMatrixOp, warp::StoreTokensOp,
            warp::StoreSumOp, warp::CallOp, warp::UnitLowerInverseOp, warp::RoundOp, warp::WithScaleOp,
            warp::WithoutScaleOp, warp::TransposeOp, warp::WidenOp, warp::WidenOverOp, warp::ZerosOp, warp::MmaOp,
            warp::ColumnDotsOp, warp::LoadStateOp, warp::StartSummaryOp, warp::StoreStateOp, warp::StoreOutputOp,
            warp::BarrierOp, warp::ExpectOp, warp::OnlyRefusedOp, warp::RefuseOp, warp::AcquireOp, warp::GetOp,
            warp::TimesUnitOp, warp::TimesPowerOp, warp::PlusExponentOp, warp::DecayingOp, warp::SettledOp>(
          [&](auto o) { write(o); })
      .Case<warp::BufferOp, warp::FloatsOp>([&](auto o) {
        if (!has_teams()) write_buffer(o, "block");  // else where they are used
      })
      .Case<warp::ChannelOp>([](auto) {})  // emitted with the team: its slots
      .Case<warp::BeforeAsyncReadsOp>([&](auto) { line("block.before_async_reads();"); })
      .Case<warp::PutOp>([&](auto) { line("team.publish();"); })
      .Case<warp::ReleaseOp>([&](auto) { line("slot.release();"); })
      .Case<warp::CommitCopiesOp>([&](auto) { line("commit_copies();"); })
      .Case<warp::WaitCopiesOp>([&](auto o) { line("wait_copies<{}>();", o.getPending()); })
      .Case<warp::EndLastOp>([&](auto) { line("if (c + 1 == round_end) break;  // the rest is for the next chunk"); })
      .Case<warp::NoteOp>([&](auto o) { write_note(o.getText()); })
      .Default([](Operation* o) { internal_error("no text for '{}'", o->getName().getStringRef().str()); });
}

void Emitter::write_note(llvm::StringRef note) {
  if (note.contains_insensitive("\n") || note.ends_with("\\")) user_error("kernel: a note is one line of text");
  line("// {}", note.str());
}

const TensorSpec& Emitter::spec_of(llvm::StringRef name) const {
  for (const TensorSpec& spec : manifest_.tensors)
    if (spec.name == name) return spec;
  user_error("kernel: '{}' is not among its tensors", name.str());
}

const char* map_text(llvm::StringRef kind) { return kind == "full" ? "Map::full" : "Map::diagonal"; }

std::string emit_cuda(warp::KernelOp kernel) {
  if (auto channel = warp::channel_of(kernel); channel && warp::is_open(channel))
    user_error_at(channel,
                  "no role acquires, puts, gets or releases the slots of this channel: run the pass hand-over");
  return Emitter(kernel).run();
}

std::string emit_cuda(warp::BatchSumOp kernel) {
  Manifest manifest = manifest_of(kernel);
  const std::string dtype = dtype_text(kernel.getDtype());
  const bool numbers = kernel.getDim() == "1";
  int64_t extent = kernel.getDim() == "K" ? kernel.getKeyDim() : kernel.getValueDim();
  const std::string call = numbers ? fmt::format("sum_tokens<{}>(args, args.tensor[1], args.tensor[0], block)", dtype)
                                   : fmt::format("sum_batches<{}, {}>(args, args.tensor[1], args.tensor[0], block, {})",
                                                 dtype, extent, kernel.getSegments());
  return fmt::format(
      "// {0}: sums gradients of a parameter over {3}, one block a head.\n{1}{4}WKVC_KERNEL({0}, 2, 1, 1) {{\n  "
      "{2};\n}}\n",
      manifest.kernel, to_line(manifest), call, numbers ? "all tokens" : "the batches", preamble(manifest));
}

std::string emit_cuda(warp::HeadSumOp kernel) {
  const Manifest manifest = manifest_of(kernel);
  const int64_t extent = kernel.getDim() == "K" ? kernel.getKeyDim() : kernel.getValueDim();
  const std::string dtype = dtype_text(kernel.getDtype());
  const std::string function = kernel.getDim() == "1" ? fmt::format("sum_head_numbers<{}>", dtype)
                                                      : fmt::format("sum_heads<{}, {}>", dtype, extent);
  return fmt::format(
      "// {0}: sums gradients of an input over {4} that share one.\n{1}{5}"
      "WKVC_KERNEL({0}, 2, {2}, 1) {{\n  {3}(args, args.tensor[1], args.tensor[0], "
      "block);\n}}\n",
      manifest.kernel, to_line(manifest), manifest.warps, function,
      kernel.getOwnHeads() ? "the parts of a head" : "the heads", preamble(manifest));
}

std::string emit_cuda(warp::CombineOp kernel) {
  Manifest manifest = manifest_of(kernel);
  const TensorSpec& state = manifest.tensors.front();
  const std::string stored = stored_as(state);
  const std::string behind = stored.empty() ? ">" : ", " + stored.substr(1);
  const std::string assertion =
      kernel.getMap() != "full" ? ""
                                : fmt::format("  static_assert(combining_bytes<{}, {}>({}) == {});\n", manifest.key_dim,
                                              kernel.getMapRows(), kernel.getStrips(), manifest.shared_bytes);
  return fmt::format(
      "// {0}: the state before each of {1} segments, from their summaries.\n{2}{9}"
      "WKVC_KERNEL({0}, 2, {3}, 1) {{\n{11}  combine_segments<{4}, {5}, {6}, "
      "{10}, {7}{8}(args.tensor[1], "
      "args.tensor[0], block);\n}}\n",
      manifest.kernel, kernel.getSegments(), to_line(manifest), manifest.warps, map_text(kernel.getMap()),
      manifest.value_dim, manifest.key_dim, kernel.getBackward() ? "true" : "false", behind, preamble(manifest),
      kernel.getMapRows(), assertion);
}

}  // namespace wkvc
