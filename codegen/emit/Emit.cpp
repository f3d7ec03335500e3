#include "codegen/emit/Emit.h"

#include <llvm/ADT/TypeSwitch.h>

#include <map>

#include "codegen/emit/Copies.h"
#include "codegen/emit/Expressions.h"
#include "codegen/emit/Header.h"
#include "codegen/ir/Text.h"
#include "codegen/rec/Limits.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

const char* map_text(llvm::StringRef kind) { return kind == "full" ? "Map::full" : "Map::diagonal"; }

class Emitter {
 public:
  explicit Emitter(warp::KernelOp kernel)
      : kernel_(kernel), manifest_(manifest_of(kernel)), expressions_(names_, value_row()) {}

  std::string run() {
    for (const char* used : {"args", "block", "team", "teams", "slot", "c", "chunks", "begin", "end", "first", "last",
                             "valid", "row0", "of_state", "value_row0", "Slots", "guard"})
      names_.unique(used);
    text_ = header_comment(kernel_) + "#include \"wkvc/tile.h\"\n\nusing namespace wkvc;\n\n";
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
    emit_block(kernel_.getBody().front());
    write_end();
    indent_ = 0;
    line("}}");
    return text_;
  }

 private:
  bool is_cut() { return kernel_.getSegments() > 1; }
  bool has_teams() { return kernel_.getTeams() > 1; }
  bool goes_ahead() { return kernel_.getRounds() > 1; }
  bool is_cluster() { return kernel_.getCluster() > 1; }
  // Who copies, and whose shared memory rings lie in: of the first round, where they go by turns.
  const char* copier() { return goes_ahead() ? "teams" : has_teams() ? "team" : "block"; }
  // Whose memory a ring or buffer lies in: that of all rounds, or of the one whose slot is at hand.
  static const char* memory_of(Value shared, const char* slot) { return warp::is_of_team(shared) ? "teams" : slot; }
  // Chunks before the round, of those that the block goes through.
  std::string before_round() { return is_cut() ? "first - begin" : "first"; }
  const char* value_row() { return kernel_.getSummary() ? "value_row0" : "row0"; }

  void write_output_rows() {
    std::map<std::string, std::string> dtypes;  // of the tensors whose rows are written
    kernel_.walk([&](Operation* op) {
      if (auto store = dyn_cast<warp::StoreOutputOp>(op))
        dtypes[store.getTensor().str()] = dtype_text(store.getDtype());
      if (auto store = dyn_cast<warp::StoreMatrixOp>(op))
        dtypes[store.getTensor().str()] = dtype_text(store.getDtype());
    });
    for (const auto& [name, dtype] : dtypes) {
      output_rows_[name] = names_.unique(name + "_rows");
      line("const OutputRows<{}{}> {}({}, block);", dtype, keeps_places() ? "" : ", false", output_rows_[name],
           tensor(name));
    }
  }

  void write_rows() {
    const std::string warp =
        is_cluster() ? fmt::format("({} * block.rank + block.warp)", warp::row_warps(kernel_)) : "block.warp";
    if (!kernel_.getSummary()) {
      line("const int row0 = 16 * {};  // first of this warp's value rows", warp);
      return;
    }
    line("const int row0 = 16 * {};  // first of this warp's rows, of the state or of the map behind it", warp);
    line("const bool of_state = row0 < {};", kernel_.getValueDim());
    line("const int value_row0 = of_state ? row0 : 0;  // what rows of the map read is not used");
  }

  void write_team() {
    if (!has_teams()) return;
    if (!goes_ahead()) {
      line("using Slots = RoundSlots<{}, {}>;", kernel_.getTeams(), warp::slot_bytes(kernel_));
      line("const Team<Slots> team(block);  // which prepares one chunk of each round");
      return;
    }
    line("using Slots = RoundSlots<{}, {}, {}, {}{}>;", kernel_.getTeams(), warp::slot_bytes(kernel_),
         kernel_.getOfTeam(), kernel_.getRounds(), is_cluster() ? fmt::format(", {}", kernel_.getCluster()) : "");
    line("const Team<Slots, {}> teams(block);  // of the warps that prepare rounds ahead", warp::row_warps(kernel_));
    if (leaves_out_rounds()) line("block.begin_rounds();");
    line("begin_slots<Slots>(block, {});", warp::row_warps(kernel_));
  }
  bool leaves_out_rounds() {
    return kernel_
        .walk([](Operation* op) {
          const bool waits = isa<warp::ClaimOp, warp::AwaitOp>(op);
          return waits && op->hasAttr("refuses") ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  // Behind what a team has written for contractions by groups.
  void write_fence(Operation* team) {
    const bool writes = team->walk([](warp::StoreOp store) {
                              return llvm::any_of(store.getTile().getUsers(), is_by_groups) ? WalkResult::interrupt()
                                                                                            : WalkResult::advance();
                            })
                            .wasInterrupted();
    if (writes) line("block.before_async_reads();");
  }

  // Other blocks may arrive at this one's mbarriers, and send to it, until they end, too.
  void write_end() {
    if (is_cluster()) line("block.cluster_barrier();");
  }

  // A segment that none follows needs no summary.
  void write_chunk_range() {
    if (!is_cut()) {
      line("const int chunks = chunk_count<{}>(args.tokens);", kernel_.getChunk());
      return;
    }
    if (kernel_.getSummary()) line("if (block.segment == {}) return;  // no segment follows", last_segment());
    std::string unit = fmt::format("{}, {}", kernel_.getChunk(), std::max<uint64_t>(kernel_.getSavedEvery(), 1));
    line("const int begin = segment_begin<{}>(args.tokens, block, block.segment);", unit);
    line("const int end = segment_begin<{}>(args.tokens, block, block.segment + 1);", unit);
  }

  // Whether there are registers for where each tensor lies: beside states of wide heads there are none.
  bool keeps_places() { return static_cast<int64_t>(kernel_.getKeyDim()) <= warp::kNarrowKeys; }

  std::string begin() { return is_cut() ? "begin" : "0"; }
  std::string end() { return is_cut() ? "end" : "chunks"; }
  std::string last_segment() { return kernel_.getBackward() ? "0" : "block.segments - 1"; }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += std::string(indent_, ' ') + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  std::string expr(Value value) const { return expressions_.of(value); }
  const std::string& tensor(llvm::StringRef name) const {
    auto it = tensors_.find(name.str());
    if (it == tensors_.end()) user_error("kernel: '{}' is not among its tensors", name.str());
    return it->second;
  }

  // A variable's name: the value's own, or that of the nearest named value it turns into.
  std::string wish(Value value) const {
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

  std::string declare(Value value) { return names_.declare(value, wish(value)); }
  // Of what several regions declare, each for itself: the same name.
  std::string declare_again(Value value) { return names_.of(value).empty() ? declare(value) : names_.of(value); }

  void emit_block(Block& block) { emit_all(llvm::make_range(block.begin(), block.end())); }
  void emit_all(llvm::iterator_range<Block::iterator> ops) {
    for (Operation& op : ops)
      if (!Expressions::is_inlined(&op) && !joins_last(op)) emit(op);
  }

  // Copies of one chunk.
  static bool are_alike(warp::CopyOp a, warp::CopyOp b) {
    auto backward = [](warp::CopyOp copy) { return copy.getRing().getDefiningOp<warp::RingOp>().getBackward(); };
    return a.getAhead() == b.getAhead() && a.getNext() == b.getNext() && backward(a) == backward(b);
  }
  static bool are_alike(Operation*, Operation*) { return true; }

  // Copies, maxima, scales and outputs in a row are one call each: what follows does not wait for what precedes.
  template <class Op>
  static bool joins_last(Operation& op) {
    return isa<Op>(op) && isa_and_nonnull<Op>(op.getPrevNode()) && are_alike(cast<Op>(op.getPrevNode()), cast<Op>(op));
  }
  static bool is_by_groups(Operation* op) {
    auto mma = dyn_cast_or_null<warp::MmaOp>(op);
    return mma && mma.getByGroups();
  }
  // Of contractions by groups, and the zeros that they begin with, which come before them all: but for one that begins
  // with a copy of another's sum, which has to be there before.
  static bool joins_group(Operation& op) {
    Operation *last = op.getPrevNode(), *next = &op;
    while (isa_and_nonnull<warp::ZerosOp>(last)) last = last->getPrevNode();
    while (isa_and_nonnull<warp::ZerosOp>(next)) next = next->getNextNode();
    if (!is_by_groups(last) || !is_by_groups(next)) return false;
    auto mma = cast<warp::MmaOp>(next);
    return accumulates_in_place(mma) || !is_by_groups(mma.getAcc().getDefiningOp());
  }
  static bool joins_last(Operation& op) {
    return joins_group(op) || joins_last<warp::CopyOp>(op) || joins_last<warp::PublishMaxOp>(op) ||
           joins_last<warp::StoreOutputOp>(op) || joins_last<warp::LeaveScaleOp>(op);
  }

  template <class Op>
  static std::vector<Op> row_from(Op first) {
    std::vector<Op> row;
    row.push_back(first);
    for (Operation* op = first->getNextNode(); op && joins_last<Op>(*op); op = op->getNextNode())
      row.push_back(cast<Op>(op));
    return row;
  }

  // A call with each of the last arguments in a line of its own.
  void call(const std::string& start, const std::vector<std::string>& arguments) {
    line("{}", start);
    for (const std::string& argument : arguments)
      line("    {}{}", argument, &argument == &arguments.back() ? ");" : ",");
  }

  void emit_region(Region& region) {
    indent_ += 2;
    emit_block(region.front());
    indent_ -= 2;
    line("}}");
  }

  void emit(Operation& op) {
    llvm::TypeSwitch<Operation*>(&op)
        .Case<warp::RingOp, warp::LoopOp, warp::TeamOp, warp::AgainOp, warp::PrepareOp, warp::YieldOp, warp::SlabsOp,
              warp::ShareOp, warp::OnWarpOp, warp::CopyOp, warp::CurrentOp, warp::PublishMaxOp, warp::ScaleForOp,
              warp::OwnScaleOp, warp::ScaleOfOp, warp::RoundBesideOp, warp::FitScaleOp, warp::LeaveScaleOp,
              warp::BoundOp, warp::StoreNumberOp, warp::LoadNumberOp, warp::LoadOp, warp::StoreOp, warp::LoadVectorOp,
              warp::StoreVectorOp, warp::AddVectorOp, warp::ParameterOp, warp::TokensOp, warp::LoadSavedOp,
              warp::StagedOp, warp::CopySavedOp, warp::LoadStagedOp, warp::SaveStateOp, warp::StageStateOp,
              warp::KeepStateOp, warp::StoreMatrixOp, warp::StoreTokensOp, warp::StoreSumOp, warp::CallOp,
              warp::UnitLowerInverseOp, warp::RoundOp, warp::WithScaleOp, warp::WithoutScaleOp, warp::WidenOp,
              warp::WidenOverOp, warp::ZerosOp, warp::MmaOp, warp::ColumnDotsOp, warp::LoadStateOp,
              warp::StartSummaryOp, warp::StoreStateOp, warp::StoreOutputOp, warp::BarrierOp, warp::ExpectOp,
              warp::OnlyRefusedOp, warp::RefuseOp, warp::ClaimOp, warp::AwaitOp, warp::TimesUnitOp,
              warp::PlusExponentOp, warp::DecayingOp, warp::SettledOp>([&](auto o) { write(o); })
        .Case<warp::BufferOp, warp::FloatsOp>([&](auto o) {
          if (!has_teams()) write_buffer(o, "block");  // else where they are used
        })
        .Case<warp::PublishOp>([&](auto o) {
          write_fence(o->getParentOp());
          line("team.publish();");
        })
        .Case<warp::ReleaseOp>([&](auto) { line("slot.release();"); })
        .Case<warp::CommitCopiesOp>([&](auto) { line("commit_copies();"); })
        .Case<warp::WaitCopiesOp>([&](auto o) { line("wait_copies<{}>();", o.getPending()); })
        .Case<warp::EndLastOp>([&](auto) { line("if (c + 1 == last) break;  // the rest is for the next chunk"); })
        .Case<warp::NoteOp>([&](auto o) { write_note(o.getText()); })
        .Default([](Operation* o) { internal_error("no text for '{}'", o->getName().getStringRef().str()); });
  }

  void write_note(llvm::StringRef note) {
    if (note.contains_insensitive("\n") || note.ends_with("\\")) user_error("kernel: a note is one line of text");
    line("// {}", note.str());
  }

  void write(warp::OnlyRefusedOp op) { line("if (!is_refused({}, block)) return;", tensor(op.getTensor())); }

  std::string sample(llvm::StringRef name) {
    const TensorSpec& spec = spec_of(name);
    const char last = spec.dims.back()[0];
    const std::int64_t columns = last == 'K' ? manifest_.key_dim : last == 'V' ? manifest_.value_dim : 1;
    const std::string chunk = std::to_string(kernel_.getChunk());
    const std::string tokens =
        is_cut() ? fmt::format("first_token<{0}>(args.tokens, begin), first_token<{0}>(args.tokens, end)", chunk)
                 : "0, args.tokens";
    return fmt::format("largest_of_sample<{}, {}>({}, block, {})", name_of(spec.dtype), columns, tensor(name), tokens);
  }
  void expect(const std::string& start, ArrayAttr names) {
    std::vector<std::string> samples;
    for (auto name : names.getAsValueRange<StringAttr>()) samples.push_back(sample(name));
    if (!samples.empty()) call(start, samples);
  }

  void write(warp::ExpectOp op) {
    std::string seen = "f32";
    kernel_.walk([&](warp::StoreOutputOp store) { seen = dtype_text(store.getDtype()); });
    line("Guard<{}> guard({}, block);", seen, tensor(op.getTensor()));
    expect("guard.expect(", op.getInputs());
    if (op.getUnit()) expect(fmt::format("const float {} = guard.unit(", declare(op.getUnit())), op.getGradients());
    line("if (guard.refuses()) return;");
  }

  void write(warp::RefuseOp op) {
    line("if (guard.refuses<{}{}>({})) return;", warp::row_warps(kernel_),
         goes_ahead() ? fmt::format(", {}", rec::max_teams) : "", expr(op.getState()));
  }

  void write(warp::BarrierOp op) {
    if (op.getRefuses())
      line("if (guard.refuses<{}>()) return wait_copies<0>();", warp::row_warps(kernel_));
    else
      line("{}.barrier();", warps_);
  }

  // Slots are handed over all the same.
  void write(warp::ClaimOp op) {
    line("team.claim();");
    if (op.getRefuses()) leave_out({"wait_copies<0>();", "team.publish();"});
  }
  void write(warp::AwaitOp op) {
    line("slot.await();");
    if (op.getRefuses()) leave_out({"slot.release();"});
  }
  void leave_out(std::initializer_list<const char*> statements) {
    line("if (guard.leaves_out<Slots>(first)) {{");
    for (const char* statement : statements) line("  {}", statement);
    line("  continue;");
    line("}}");
  }

  void write(warp::TimesUnitOp op) {
    std::string unit = names_.of(op.getUnit());
    if (op.getOver()) unit = fmt::format("inverse_scale({})", unit);
    if (op.getOfState()) unit = fmt::format("(of_state ? {} : 1.f)", unit);
    if (op.getFactor()) unit = fmt::format("({} * {})", float_text(*op.getFactor()), unit);
    line("const auto {} = {} * {};", declare(op.getResult()), expressions_.of_factor(op.getX()), unit);
  }

  void write(warp::PlusExponentOp op) {
    line("const auto {} = {} {} exponent_of({});", declare(op.getResult()), expr(op.getX()), op.getLess() ? "-" : "+",
         names_.of(op.getUnit()));
  }

  void write(warp::RingOp op) {
    line("const Ring<{}{}> {}{{{}.memory + {}}};", kind_of(op), layout_of(op), declare(op.getResult()), copier(),
         op.getOffset());
    if (isa_and_nonnull<warp::RingOp>(op->getNextNode())) return;  // the last one of a row says who copies them
    for (const AlikeRings& rings : alike_rings(op)) write_copies(rings);
  }

  // Slots may be declared after the ring that they belong to.
  std::string slots_text(Value slots) {
    std::string name = names_.of(slots);
    if (!name.empty() && !has_teams()) return name;
    return fmt::format("{}.floats({})", copier(), slots.getDefiningOp<warp::FloatsOp>().getOffset());
  }

  std::string copied(warp::RingOp ring) {
    Value slots = maximum_of(ring);
    return fmt::format("copied({}, {}, {}{})", ring.getWarp(), tensor(ring.getTensor()), names_.of(ring.getResult()),
                       slots ? ", " + slots_text(slots) : "");
  }

  void write_copies(const AlikeRings& rings) {
    std::string copies = names_.unique("copies");
    copiers_.add(rings, copies);
    const bool kept = keeps_places();
    const std::string layout = kept || !rings.layout.empty() ? rings.layout : ", Padded";
    line("Copies<{}, {}{}{}> {};  // of this warp", rings.kind, rings.turns.size(), layout, kept ? "" : ", false",
         copies);
    for (size_t n = 0; n < rings.turns.size(); ++n) {
      std::vector<std::string> each;
      for (warp::RingOp ring : rings.turns[n]) each.push_back(copied(ring));
      call(fmt::format("{}.take<{}>(args, {},", copies, n, copier()), each);
    }
  }

  // That of the loop being written, and what the chunks after it are compared with.
  std::string first_chunk(bool backward) {
    if (in_groups_) return backward ? "last" : "first";
    return backward ? end() + " - 1" : begin();
  }
  // So many after the current one, or before the loop after its first.
  std::string chunk_ahead(bool backward, uint64_t ahead) {
    std::string chunk = loop_ || has_teams() ? "c" : first_chunk(backward);
    if (!ahead) return chunk;
    return chunk == "0" ? std::to_string(ahead) : fmt::format("{} {} {}", chunk, backward ? '-' : '+', ahead);
  }
  std::string is_in_loop(const std::string& chunk, bool backward) {
    if (backward) return fmt::format("{} >= {}", chunk, in_groups_ ? "first" : begin());
    return fmt::format("{} < {}", chunk, in_groups_ ? "last" : end());
  }

  // `memory`: the block that it lies in, with one slot as its shared memory in a kernel of teams.
  void write_buffer(warp::BufferOp op, const char* memory) {
    auto type = cast<MemRefType>(op.getType());
    std::string shape = dtype_text(type.getElementType()) + ", " + shape_text(type);
    std::string name = declare_again(op.getResult());
    if (op.getSlabs())
      line("const auto {} = {}.{}_slabs<{}>({}, {});", name, memory, *op.getSlabs() == "rows" ? "row" : "column", shape,
           op.getOffset(), *op.getScale());
    else if (op.getScale())
      line("const auto {} = {}.scaled_shared<{}>({}, {});", name, memory, shape, op.getOffset(), *op.getScale());
    else
      line("const auto {} = {}.shared<{}>({});", name, memory, shape, op.getOffset());
  }

  void write_buffer(warp::FloatsOp op, const char* memory) {
    line("float* const {} = {}.floats({});", declare_again(op.getResult()), memory, op.getOffset());
  }

  // In a kernel of teams: those that a region uses, in the slot of its chunk.
  void write_buffers_of(Region& region, const char* memory) {
    llvm::SetVector<Operation*> used;
    region.walk([&](Operation* op) {
      for (Value operand : op->getOperands())
        if (isa_and_nonnull<warp::BufferOp, warp::FloatsOp>(operand.getDefiningOp()))
          used.insert(operand.getDefiningOp());
    });
    for (Operation* op : used)
      llvm::TypeSwitch<Operation*>(op).Case<warp::BufferOp, warp::FloatsOp>(
          [&](auto buffer) { write_buffer(buffer, memory_of(buffer.getResult(), memory)); });
  }

  void declare_state(warp::LoopOp op) {
    Value state = op.getBody().getArgument(0);
    line("auto {} = {};", names_.declare(state, name_of(state)), expr(op.getInit()));
    names_.alias(op.getResult(), state);
  }

  void write(warp::LoopOp op) {
    if (op.getBeside()) return;  // written with the one before it
    declare_state(op);
    auto beside = dyn_cast_or_null<warp::LoopOp>(op->getNextNode());
    if (beside && beside.getBeside())
      write_both(op, beside);
    else if (op.getOver() == "groups")
      write_groups(op);
    else if (op.getOver() == "rounds")
      write_rounds(op.getBody(), op.getBackward());
    else
      write_chunks(op);
  }

  // What the first state's next chunk needs alone comes last: then the rest of both is one piece of code, in which they
  // need not wait for each other.
  void write_both(warp::LoopOp op, warp::LoopOp beside) {
    declare_state(beside);
    line("for (int step = 0; step < last - first; ++step) {{");
    indent_ += 2;
    line("const int c = first + step;");
    begin_chunk(op);
    Block& body = op.getBody().front();
    auto ends = body.getOps<warp::EndLastOp>();
    const auto end = ends.empty() ? body.end() : Block::iterator(*ends.begin());
    emit_all({body.begin(), end});
    line("{{");
    line("  const int c = last - 1 - step;");
    indent_ += 2;
    begin_chunk(beside);
    indent_ -= 2;
    emit_region(beside.getBody());
    loop_ = op;
    if (end != body.end()) {
      line("if (c + 1 < last) {{  // the rest is for the next chunk");
      indent_ += 2;
      emit_all({std::next(end), body.end()});
      indent_ -= 2;
      line("}}");
    }
    loop_ = {};
    indent_ -= 2;
    line("}}");
  }

  void write_groups(warp::LoopOp op) {
    auto every = kernel_.getSavedEvery();
    line("for (int g = ({} + {}) / {}{}; g >= {}; --g) {{", end(), every - 1, every, op.getAhead() ? "" : " - 1",
         lowest_group());
    line("  const int first = {0} * g, last = (first + {0} < {1} ? first + {0} : {1}) - 1;  // chunks", every, end());
    in_groups_ = true;
    emit_region(op.getBody());
    in_groups_ = false;
  }

  void write(warp::PrepareOp op) {
    line("if (block.warp >= {}) {{", warp::row_warps(kernel_));
    indent_ += 2;
    write_rounds(op.getBody(), /*backward=*/false);
    write_end();
    line("return;");
    indent_ -= 2;
    line("}}");
  }

  void write_rounds(Region& body, bool backward) {
    if (backward)
      line("for (int first = last_round<Slots>({1}, {2}); first >= {1}; first -= {0}) {{", warp::round_chunks(kernel_),
           begin(), end());
    else
      line("for (int first = {}; first < {}; first += {}) {{", begin(), end(), warp::round_chunks(kernel_));
    line("  const int last = first + {0} < {1} ? first + {0} : {1};  // that is no chunk of this round",
         warp::round_chunks(kernel_), end());
    in_rounds_ = true;
    emit_region(body);
    in_rounds_ = false;
  }

  void write(warp::TeamOp op) {
    std::string first = in_rounds_ ? "first + " : is_cut() ? "begin + " : "";
    if (kernel_.getBackward() && !in_rounds_)
      line("if (const int c = team.last_chunk{2}({0}, {1}); c >= {0}) {{", begin(), end(),
           goes_again_ ? fmt::format("<{}>", kernel_.getSavedEvery()) : "");
    else
      line("if (const int c = {}{}.chunk; c < {}) {{", first, copier(), in_rounds_ ? "last" : end());
    indent_ += 2;
    if (goes_ahead()) line("const auto team = teams.in_round({});", in_rounds_ ? before_round() : "0");
    line("const int valid = valid_rows<{}>(args.tokens, c);  // tokens of this chunk", kernel_.getChunk());
    write_buffers_of(op.getBody(), "team");
    warps_ = "team";
    emit_block(op.getBody().front());
    if (!goes_ahead()) write_fence(op);  // else before it hands its slot over
    indent_ -= 2;
    line("}}");
    warps_ = "block";
  }

  std::string lowest_group() {
    return is_cut() ? fmt::format("begin / {}", kernel_.getSavedEvery()) : std::string("0");
  }

  void write_chunks(warp::LoopOp op) {
    bool group = op.getOver() == "group" || op.getOver() == "round";
    std::string last = in_rounds_ ? "last - 1" : "last";  // that of a group is one of its chunks
    if (op.getBackward())
      line("for (int c = {}; c >= {}; --c) {{", group ? last : end() + " - 1", group ? "first" : begin());
    else
      line("for (int c = {}; c < {}; ++c) {{", group ? "first" : begin(), group ? "last" : end());
    indent_ += 2;
    begin_chunk(op);
    indent_ -= 2;
    emit_region(op.getBody());
    loop_ = {};
  }

  void begin_chunk(warp::LoopOp op) {
    line("const int valid = valid_rows<{}>(args.tokens, c);  // tokens of this chunk", kernel_.getChunk());
    loop_ = op;
    if (!has_teams()) return;
    line("const Slot<Slots> slot(block, c - first{});", goes_ahead() ? ", " + before_round() : "");
    write_buffers_of(op.getBody(), "slot");
  }

  void write(warp::YieldOp op) {
    auto again = dyn_cast<warp::AgainOp>(op->getParentOp());
    Value state =
        again ? Value(again.getResult()) : Value(cast<warp::LoopOp>(op->getParentOp()).getBody().getArgument(0));
    if (expr(op.getNext()) != names_.of(state)) line("{} = {};", names_.of(state), expr(op.getNext()));
  }

  void write(warp::SlabsOp op) {
    std::string column = names_.declare(op.getBody().getArgument(0), "column");
    if (op.getStrips()) {
      line("{{");
      line("  const int {} = {} * {}.warp;", column, warp::slab_width(op), warps_);
    } else {
      line("for (int {0} = 16 * {1}.warp; {0} < {2}; {0} += 16 * {1}.warps) {{", column, warps_, op.getColumns());
    }
    emit_region(op.getBody());
  }

  void write(warp::ShareOp op) {
    line("const int {} = {} * {}.warp;  // first of this warp's columns", names_.declare(op.getResult(), "column"),
         op.getWidth(), warps_);
  }

  void write(warp::OnWarpOp op) {
    line("if ({}.warp == {}) {{", warps_, op.getWarp());
    emit_region(op.getBody());
  }

  void write(warp::CopyOp op) {
    bool backward = op.getRing().getDefiningOp<warp::RingOp>().getBackward();
    std::string chunk = chunk_ahead(backward, op.getAhead());
    std::string exists = is_in_loop(chunk, backward);
    if (op.getNext()) std::tie(chunk, exists) = next_chunk(op);
    std::vector<warp::RingOp> rings;
    for (warp::CopyOp copy : row_from(op)) rings.push_back(copy.getRing().getDefiningOp<warp::RingOp>());
    for (Copier copies : copiers_.of(rings, "copied", [](warp::RingOp) { return true; }))
      line("{}{}.copy(args, {}, {});", exists.empty() ? "" : "if (" + exists + ") ", copies.variable,
           memory_of(copies.ring.getResult(), warps_), chunk);
  }

  // The first chunk of the next group, or the team's of the round that it prepares next, and whether there is one.
  std::pair<std::string, std::string> next_chunk(warp::CopyOp op) {
    const uint64_t every = kernel_.getSavedEvery();
    if (!goes_again_) return {fmt::format("first - {}", every), "g > " + lowest_group()};
    const std::string next = names_.unique("next");
    const int64_t round = warp::round_chunks(kernel_);
    if (op->getParentOfType<warp::AgainOp>()) {
      line("const int {0} = c + {1} < {2} ? c + {1} : c;  // in the round after this one, or again in this one", next,
           round, end());
      return {next, ""};
    }
    line("const int {} = c - (first % {} == 0 ? {} : {});  // of the last group, or of this one", next, every, every,
         round);
    return {next, fmt::format("{} >= {}", next, begin())};
  }

  // Emitted inside the loop over rounds, as the body of the round before.
  void write(warp::AgainOp op) {
    const int64_t round = warp::round_chunks(kernel_);
    line("auto {} = {};", declare(op.getResult()), expr(op.getSaved()));
    line("if (first % {} != 0) {{  // through the round before, which has a saved state", kernel_.getSavedEvery());
    line("  const int before = first - {};", round);
    line("  const int first = before, last = before + {};", round);
    emit_region(op.getBody());
  }

  void write(warp::CurrentOp op) {
    auto ring = op.getRing().getDefiningOp<warp::RingOp>();
    if (has_teams() && (loop_ || goes_ahead()))  // the chunk's slot, not that of the team's first
      line("const auto {} = {}.{}<{}, {}>({});", declare(op.getResult()),
           memory_of(op.getRing(), loop_ ? "slot" : warps_), ring.getExchanged() ? "exchanged" : "padded",
           dtype_text(cast<MemRefType>(op.getType()).getElementType()), shape_text(op.getType()), ring.getOffset());
    else
      line("const auto {} = {}[c];", declare(op.getResult()), names_.of(op.getRing()));
  }

  void write(warp::PublishMaxOp op) {
    std::vector<std::string> maxima;
    std::vector<warp::RingOp> rings;
    for (warp::PublishMaxOp x : row_from(op)) {
      if (auto current = x.getX().getDefiningOp<warp::CurrentOp>())
        rings.push_back(current.getRing().getDefiningOp<warp::RingOp>());
      else
        maxima.push_back(fmt::format("maximum({}, {})", expr(x.getX()), names_.of(x.getSlots())));
    }
    for (Copier copies : copiers_.of(rings, "published", [](warp::RingOp ring) { return !!maximum_of(ring); }))
      line("{}.publish_maxima({}{}, c);", copies.variable, warp::is_of_team(copies.ring.getResult()) ? "teams, " : "",
           warps_);
    if (!maxima.empty()) call("publish_maxima(block,", maxima);
  }

  std::string largest_in(Value slots) {
    bool one = cast<MemRefType>(slots.getType()).getDimSize(0) == 1;
    return one ? "*" + names_.of(slots) : fmt::format("block_max({}, block)", names_.of(slots));
  }

  void write(warp::ScaleForOp op) {
    std::vector<std::string> products;
    auto slots = op.getSlots().begin();
    const int64_t all = static_cast<int64_t>(op.getSlots().size());
    for (int64_t count : op.getCounts().value_or(llvm::ArrayRef(all))) {
      std::vector<std::string> maxima;
      for (; count > 0; --count) maxima.push_back(largest_in(*slots++));
      products.push_back(fmt::format("{}", fmt::join(maxima, " * ")));
    }
    std::string sum = fmt::format("{}", fmt::join(products, " + "));
    line("const float {} = scale_for({} * {});", declare(op.getResult()), products.size() == 1 ? sum : "(" + sum + ")",
         float_text(op.getFactor()));
  }

  void write(warp::OwnScaleOp op) {
    line("const float {} = scale_for(max_abs({}) * {});", declare(op.getResult()), expr(op.getX()),
         float_text(op.getFactor()));
  }

  void write(warp::ScaleOfOp op) { line("const float {} = *{}.scale;", declare(op.getResult()), names_.of(op.getX())); }

  void write(warp::RoundBesideOp op) {
    std::string x = expressions_.operand(op.getX(), {}, op.getScale(), /*transposed=*/false);
    line("const auto {} = round_beside<{}>({}, {}, {});", declare(op.getResult()),
         dtype_text(cast<VectorType>(op.getType()).getElementType()), x, expr(op.getState()), names_.of(op.getOther()));
  }

  void write(warp::FitScaleOp op) {
    line("const auto {} = in_fitting_scale({}, {}, {}, {});", declare(op.getResult()), expr(op.getX()),
         largest_in(op.getSlots()), names_.of(op.getSlope()), names_.of(op.getOffset()));
  }

  void write(warp::LeaveScaleOp op) {
    line("if (block.warp == 0) {{  // all have the same");
    for (warp::LeaveScaleOp scale : row_from(op))
      line("  store_scale({}, {}.scale);", names_.of(scale.getTo()), names_.of(scale.getX()));
    line("}}");
  }

  void write(warp::BoundOp op) {
    std::string product = float_text(op.getFactor());
    // By turns, as products of maxima alone may leave the range of f32.
    for (size_t i = 0; i < std::max(op.getSlots().size(), op.getUnder().size()); ++i) {
      if (i < op.getSlots().size()) product += " * " + largest_in(op.getSlots()[i]);
      if (i < op.getUnder().size()) product += fmt::format(" * inverse_scale({})", names_.of(op.getUnder()[i]));
    }
    for (Value scale : op.getScales()) product += " * " + names_.of(scale);
    line("const float {} = {};", declare(op.getResult()), product);
  }

  void write(warp::StoreNumberOp op) {
    std::vector<std::string> numbers;
    for (Value x : op.getX()) numbers.push_back(names_.of(x));
    line("store_scale({}, {});", names_.of(op.getTo()),
         numbers.empty() ? "0.f" : fmt::format("{}", fmt::join(numbers, " + ")));
  }

  void write(warp::LoadNumberOp op) { line("const float {} = *{};", declare(op.getResult()), names_.of(op.getFrom())); }

  void write(warp::LoadOp op) { line("const auto {} = {};", declare(op.getResult()), expressions_.load(op)); }

  void write(warp::StoreOp op) {
    auto buffer = op.getTile().getDefiningOp<warp::BufferOp>();
    // A scale that every warp knows is not stored with the tile.
    bool data_only = warp::has_scale(op.getX()) && buffer && !buffer.getScale();
    std::string to = op.getOwnRows() ? names_.of(op.getTile()) + ".rows<16>(row0)"
                                     : expressions_.columns(op.getTile(), op.getColumn(), op.getOwnColumns());
    line("store{}({}, {}{});", op.getOwnColumns() ? "_transposed" : "", to, expr(op.getX()), data_only ? ".data" : "");
  }

  // A row has its numbers side by side.
  static bool is_row(Type vector) { return cast<VectorType>(vector).getDimSize(0) == 1; }
  static int64_t length(Type vector) { return cast<VectorType>(vector).getNumElements(); }

  void write(warp::LoadVectorOp op) {
    std::string from = names_.of(op.getFrom());
    if (op.getColumn()) from += " + " + names_.of(op.getColumn());
    const char* kind = is_row(op.getType()) ? "row" : "column";
    if (op.getParts())
      line("const auto {} = load_{}_sum<{}>({}, {}, {});", declare(op.getResult()), kind, length(op.getType()), from,
           *op.getParts(),
           cast<MemRefType>(op.getFrom().getType()).getDimSize(0) / static_cast<int64_t>(*op.getParts()));
    else
      line("const auto {} = load_{}<{}>({});", declare(op.getResult()), kind, length(op.getType()), from);
  }

  // In a kernel of teams each slot has its own of what is used outside rounds.
  std::vector<std::string> in_all_slots(Value floats) {
    if (!has_teams()) return {names_.of(floats)};
    std::vector<std::string> all;
    for (int64_t chunk = 0; chunk < warp::round_chunks(kernel_); ++chunk)
      all.push_back(
          fmt::format("Slot<Slots>(block, {}).floats({})", chunk, floats.getDefiningOp<warp::FloatsOp>().getOffset()));
    return all;
  }

  void write(warp::StoreVectorOp op) {
    bool outside = !op->getParentOfType<warp::LoopOp>() && !op->getParentOfType<warp::TeamOp>();
    for (const std::string& to : outside ? in_all_slots(op.getTo()) : std::vector{names_.of(op.getTo())})
      store_vector(op, to);
  }

  void store_vector(warp::StoreVectorOp op, std::string to) {
    int64_t count = length(op.getX().getType());
    if (op.getPart())
      to += op.getColumn()
                ? fmt::format(" + {} * ({} / {})", count, names_.of(op.getColumn()), warp::slab_width(op.getColumn()))
                : fmt::format(" + {} * block.warp", count);
    else if (op.getColumn())
      to += " + " + names_.of(op.getColumn());
    line("store_{}({}, {});", is_row(op.getX().getType()) ? "row" : "column", to, expr(op.getX()));
  }

  // The first of 16 numbers: those of a slab, or of this warp's value rows.
  std::string place(Value column) { return column ? names_.of(column) : value_row(); }

  void write(warp::AddVectorOp op) {
    std::string to = names_.of(op.getTo()) + " + " + place(op.getColumn());
    const char* kind = op.getColumn() ? "row" : "column";
    line("store_{}({}, load_{}<{}>({}) + {});", kind, to, kind, length(op.getX().getType()), to, expr(op.getX()));
  }

  void write(warp::TokensOp op) {
    line("const auto {} = load_tokens_{}<{}, {}>({}, block, {}LL * c, valid);", declare(op.getResult()),
         is_row(op.getType()) ? "row" : "column", dtype_text(op.getDtype()), length(op.getType()),
         tensor(op.getTensor()), kernel_.getChunk());
  }

  void write(warp::StoreMatrixOp op) {
    line("store_outputs(args, c, valid, output<{}>({}, 0, {}));", dtype_text(op.getDtype()),
         output_rows_.at(op.getTensor().str()), expr(op.getX()));
  }

  void write(warp::StoreTokensOp op) {
    if (kernel_.getPlain()) line("guard.see({});", expr(op.getX()));
    line("store_tokens<{}>({}, block, {}LL * c, valid, {});", dtype_text(op.getDtype()), tensor(op.getTensor()),
         kernel_.getChunk(), expr(op.getX()));
  }

  void write(warp::StoreSumOp op) {
    std::string column = place(op.getColumn());
    const char* kind = op.getColumn() ? "row" : "column";
    std::vector<std::string> parts;
    for (const std::string& from : in_all_slots(op.getFrom()))
      parts.push_back(fmt::format("load_{}<16>({} + {})", kind, from, column));
    line("store_parameter_{}<f32>({}, block, {}, {});", kind, tensor(op.getTensor()), column, fmt::join(parts, " + "));
  }

  // The first of this warp's rows of the state before `chunk`, among those that the block keeps for a group in a
  // workspace, or among all that were saved.
  std::string kept_row(llvm::StringRef name, std::string chunk) {
    if (in_rounds_ && !loop_) chunk = "first";  // of the round
    auto every = kernel_.getSavedEvery();
    if (chunk.find(' ') != chunk.npos) chunk = "(" + chunk + ")";
    std::string index = chunk;
    if (spec_of(name).role == Role::workspace)
      index = is_cut() ? fmt::format("({0} * block.segment + {1} % {0})", every, chunk)
                       : fmt::format("({} % {})", chunk, every);
    else if (every > 1)
      index = in_groups_ ? "g" : fmt::format("({} / {})", chunk, every);
    return fmt::format("{}LL * {} + row0", kernel_.getValueDim(), index);
  }

  const TensorSpec& spec_of(llvm::StringRef name) const {
    for (const TensorSpec& spec : manifest_.tensors)
      if (spec.name == name) return spec;
    user_error("kernel: '{}' is not among its tensors", name.str());
  }

  void write(warp::StagedOp op) {
    auto type = cast<MemRefType>(op.getType());
    line("const auto {} = block.staged<{}, {}>({}, row0);", declare(op.getResult()), dtype_text(type.getElementType()),
         type.getDimSize(1), op.getOffset());
  }

  void write(warp::CopySavedOp op) {
    if (op.getNext()) {
      line("if (g > {}) copy_kept_state({}, {}, block, {}LL * (g - 1) + row0);", lowest_group(),
           names_.of(op.getStaged()), tensor(op.getTensor()), kernel_.getValueDim());
      return;
    }
    bool backward = kernel_.getBackward();
    std::string chunk = chunk_ahead(backward, op.getAhead());
    auto copy_if = [&](const std::string& condition, llvm::StringRef name) {
      line("if ({}) copy_kept_state({}, {}, block, {});", condition, names_.of(op.getStaged()), tensor(name),
           kept_row(name, chunk));
    };
    copy_if(op.getFirstFrom() ? chunk + " > first" : is_in_loop(chunk, backward), op.getTensor());
    if (op.getFirstFrom()) copy_if(chunk + " == first", *op.getFirstFrom());
  }

  void write(warp::LoadStagedOp op) {
    line("const auto {} = load_kept_state({});", declare(op.getResult()), names_.of(op.getStaged()));
  }

  void write(warp::LoadSavedOp op) {
    auto type = cast<VectorType>(op.getType());
    line("const auto {} = load_kept_state<{}, {}>({}, block, {});", declare(op.getResult()),
         dtype_text(type.getElementType()), type.getDimSize(1), tensor(op.getTensor()), kept_row(op.getTensor(), "c"));
  }

  void write(warp::StageStateOp op) { line("stage_state({}, {});", expr(op.getX()), names_.of(op.getStaged())); }

  void write(warp::KeepStateOp op) {
    std::string chunk = loop_ ? "c + 1" : "first";
    line("{}keep_state<{}>({}, {}, block, {});", op.getButLast() ? "if (" + chunk + " < last) " : "",
         dtype_text(op.getDtype()), expr(op.getX()), tensor(op.getTensor()), kept_row(op.getTensor(), chunk));
  }

  void write(warp::SaveStateOp op) {
    std::string condition =
        kernel_.getSavedEvery() == 1 ? "" : fmt::format("if (c % {} == 0) ", kernel_.getSavedEvery());
    line("{}keep_state<{}>({}, {}, block, {});", condition, dtype_text(op.getDtype()), expr(op.getX()),
         tensor(op.getTensor()), kept_row(op.getTensor(), "c"));
  }

  void write(warp::ParameterOp op) {
    const char* kind = warp::is_in_strips(op) ? "strip" : op.getColumn() ? "row" : "column";
    line("const auto {} = load_parameter_{}<{}, {}>({}, block, {});", declare(op.getResult()), kind,
         dtype_text(op.getDtype()), length(op.getType()), tensor(op.getTensor()), place(op.getColumn()));
  }

  void write(warp::CallOp op) {
    line("{}auto {} = {};", is_accumulator(op.getResult()) ? "" : "const ", declare(op.getResult()),
         expressions_.statement(op));
  }

  void write(warp::DecayingOp op) {
    line("const auto {} = decaying({}{});", declare(op.getResult()), expr(op.getX()),
         op.getRow() ? ", " + expr(op.getRow()) : "");
  }
  void write(warp::SettledOp op) { line("const auto {} = settled({});", declare(op.getResult()), expr(op.getX())); }

  void write(warp::UnitLowerInverseOp op) {
    line("const auto {} = unit_lower_inverse<{}>({}, {});", declare(op.getResult()), op.getDtype().str(),
         expr(op.getX()), names_.of(op.getScratch()));
  }

  void write(warp::RoundOp op) { line("const auto {} = {};", declare(op.getResult()), expressions_.statement(op)); }
  void write(warp::WithScaleOp op) { line("auto {} = {};", declare(op.getResult()), expressions_.statement(op)); }
  void write(warp::WithoutScaleOp op) {
    line("const auto {} = {};", declare(op.getResult()), expressions_.statement(op));
  }

  void write(warp::WidenOp op) {
    std::string x = expr(op.getX());
    if (op.getScale()) x = fmt::format("scaled({}, {})", x, expr(op.getScale()));
    line("const auto {} = widen({});", declare(op.getResult()), x);
  }

  void write(warp::WidenOverOp op) {
    line("const auto {} = widen_over({}, {});", declare(op.getResult()), expr(op.getX()), names_.of(op.getScale()));
  }

  void write(warp::ZerosOp op) {
    auto reader = op->hasOneUse() ? dyn_cast<warp::MmaOp>(*op->user_begin()) : warp::MmaOp();
    if (reader && reader.getNewScale() && reader.getAcc() == op.getResult()) return;  // a product alone
    auto shape = cast<VectorType>(op.getType()).getShape();
    std::string name = declare(op.getResult());
    if (shape[0] == 1 || shape[1] == 1)
      line("const {}<{}> {}{{}};", shape[0] == 1 ? "RowVec" : "ColVec", shape[0] * shape[1], name);
    else
      line("auto {} = zeros<{}>();", name, shape_text(op.getType()));
  }

  // Whether `op` may add to the variable of its accumulator: nothing reads it afterwards.
  static bool accumulates_in_place(warp::MmaOp op) {
    Value acc = op.getAcc();
    if (!isa_and_nonnull<warp::MmaOp, warp::ZerosOp, warp::CallOp>(acc.getDefiningOp())) return false;
    return llvm::all_of(acc.getUsers(), [&](Operation* user) {
      return user == op || (user->getBlock() == op->getBlock() && user->isBeforeInBlock(op));
    });
  }

  static bool is_accumulator(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation* user) {
      if (auto round = dyn_cast<warp::RoundOp>(user); round && round.getInScale()) return true;
      auto mma = dyn_cast<warp::MmaOp>(user);
      return mma && mma.getAcc() == value && accumulates_in_place(mma);
    });
  }

  std::string operands(warp::MmaOp op) {
    return fmt::format("{}, {}", expressions_.operand(op.getX(), {}, op.getXScale(), op.getXTransposed()),
                       expressions_.operand(op.getY(), op.getYColumn(), op.getYScale(), op.getYTransposed()));
  }

  std::string begin_sum(warp::MmaOp op) {
    if (accumulates_in_place(op))
      names_.alias(op.getResult(), op.getAcc());
    else
      line("auto {} = {};", declare(op.getResult()), expr(op.getAcc()));
    return names_.of(op.getResult());
  }

  void write_by_groups(warp::MmaOp first) {
    std::vector<std::string> terms;
    for (Operation* op = first; op && (op == first || joins_group(*op)); op = op->getNextNode()) {
      if (auto zeros = dyn_cast<warp::ZerosOp>(op)) write(zeros);
      if (auto mma = dyn_cast<warp::MmaOp>(op))
        terms.push_back(fmt::format("term({}, {})", begin_sum(mma), operands(mma)));
    }
    if (terms.size() == 1) return line("group_mma({});", terms.front());
    call("group_mma(", terms);
  }

  void write(warp::MmaOp op) {
    if (op.getByGroups()) return write_by_groups(op);
    if (op.getNewScale()) {
      bool alone = op.getAcc().getDefiningOp<warp::ZerosOp>() && op.getAcc().hasOneUse();
      line("{}auto {} = product_nt({}{});", is_accumulator(op.getResult()) ? "" : "const ", declare(op.getResult()),
           alone ? "" : expr(op.getAcc()) + ", ", operands(op));
      return;
    }
    const char* function = op.getInScale() ? "accumulate" : op.getSameScale() ? "mma_same_scale" : "mma_nt";
    const std::string sum = begin_sum(op);
    line("{}({}, {});", function, sum, operands(op));
  }

  void write(warp::ColumnDotsOp op) {
    line("const auto {} = column_dots({}, {}{});", declare(op.getResult()),
         expressions_.operand(op.getX(), op.getColumn(), op.getXScale(), false),
         expressions_.operand(op.getY(), op.getColumn(), op.getYScale(), false),
         op.getRows() ? ", " + expr(op.getRows()) : "");
  }

  void write(warp::LoadStateOp op) {
    std::string name = declare(op.getResult());
    line("auto {} = zeros<{}>();", name, shape_text(op.getType()));
    line("load_state({}, {}, block, {});", name, tensor(op.getTensor()), state_row(op.getTensor()));
  }

  // The first of this warp's rows: of the sequence's state, or in a workspace of the segment's.
  std::string state_row(llvm::StringRef name) const {
    const TensorSpec& spec = spec_of(name);
    if (spec.role != Role::workspace) return "row0";
    return fmt::format("{}LL * block.segment + row0", spec.dims[3]);
  }

  void write(warp::StartSummaryOp op) {
    line("const auto {} = start_summary<{}, {}, {}>(row0);", declare(op.getResult()), map_text(*kernel_.getSummary()),
         kernel_.getValueDim(), kernel_.getKeyDim());
  }

  void write(warp::StoreStateOp op) {
    bool whole = is_cut() && !kernel_.getSummary();
    line("{}store_state({}, {}, block, {});", whole ? fmt::format("if (block.segment == {}) ", last_segment()) : "",
         expr(op.getX()), tensor(op.getTensor()), state_row(op.getTensor()));
  }

  void write(warp::StoreOutputOp op) {
    std::vector<std::string> outputs;
    for (warp::StoreOutputOp out : row_from(op))
      outputs.push_back(fmt::format("output{}<{}>({}, {}, {})", out.getTransposed() ? "_transposed" : "",
                                    dtype_text(out.getDtype()), output_rows_.at(out.getTensor().str()),
                                    place(out.getColumn()), expr(out.getX())));
    call(kernel_.getPlain() ? "store_outputs(guard, args, c, valid," : "store_outputs(args, c, valid,", outputs);
  }

  warp::KernelOp kernel_;
  Manifest manifest_;
  Identifiers names_;
  Expressions expressions_;
  std::map<std::string, std::string> tensors_, output_rows_;  // name → variable
  Copiers copiers_;
  std::string text_;
  int indent_ = 0;
  const char* warps_ = "block";  // those that do what is written: the block's or a team's
  bool goes_again_ = warp::goes_again(kernel_);
  warp::LoopOp loop_;  // over chunks, around what is written
  bool in_groups_ = false, in_rounds_ = false;
};

}  // namespace

std::string emit_cuda(warp::KernelOp kernel) { return Emitter(kernel).run(); }

std::string emit_cuda(warp::BatchSumOp kernel) {
  Manifest manifest = manifest_of(kernel);
  int64_t extent = kernel.getDim() == "K" ? kernel.getKeyDim() : kernel.getValueDim();
  return fmt::format(
      "// {0}: sums gradients of a parameter over the batches, one block a head.\n{1}#include \"wkvc/tile.h\"\n\n"
      "using namespace wkvc;\n\nWKVC_KERNEL({0}, 2, 1, 1) {{\n  sum_batches<{2}, {3}>(args.tensor[1], args.tensor[0], "
      "block, args.batches, {4});\n}}\n",
      manifest.kernel, to_line(manifest), dtype_text(kernel.getDtype()), extent, kernel.getSegments());
}

std::string emit_cuda(warp::CombineOp kernel) {
  Manifest manifest = manifest_of(kernel);
  return fmt::format(
      "// {0}: the state before each of {1} segments, from their summaries.\n{2}#include \"wkvc/tile.h\"\n\n"
      "using namespace wkvc;\n\nWKVC_KERNEL({0}, 2, {3}, 1) {{\n  combine_segments<{4}, {5}, {6}, {7}>(args.tensor[1], "
      "args.tensor[0], block);\n}}\n",
      manifest.kernel, kernel.getSegments(), to_line(manifest), manifest.warps, map_text(kernel.getMap()),
      manifest.value_dim, manifest.key_dim, kernel.getBackward() ? "true" : "false");
}

}  // namespace wkvc
