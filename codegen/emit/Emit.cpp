#include "codegen/emit/Emit.h"

#include <llvm/ADT/TypeSwitch.h>

#include <map>

#include "codegen/emit/Expressions.h"
#include "codegen/emit/Header.h"
#include "codegen/ir/Text.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

class Emitter {
 public:
  explicit Emitter(warp::KernelOp kernel) : kernel_(kernel), manifest_(manifest_of(kernel)), expressions_(names_) {}

  std::string run() {
    for (const char* used : {"args", "block", "c", "chunks", "copiers", "valid", "row0"}) names_.unique(used);
    text_ = header_comment(kernel_) + "#include \"wkvc/tile.h\"\n\nusing namespace wkvc;\n\n";
    line("WKVC_KERNEL({}, {}, {}, {}) {{", manifest_.kernel, manifest_.tensors.size(), manifest_.warps,
         kernel_.getBlocks());
    indent_ = 2;
    for (size_t i = 0; i < manifest_.tensors.size(); ++i) {
      tensors_[manifest_.tensors[i].name] = names_.unique(manifest_.tensors[i].name + "_global");
      line("const TensorArg& {} = args.tensor[{}];", tensors_[manifest_.tensors[i].name], i);
    }
    line("const int row0 = 16 * block.warp;  // first of this warp's value rows");
    line("const long long chunks = (args.tokens + {}) / {};", kernel_.getChunk() - 1, kernel_.getChunk());
    if (kernel_.getCopiers())
      line("const BlockBase copiers = block.team({}, {});  // warps that copy inputs",
           kernel_.getWarps() - *kernel_.getCopiers(), *kernel_.getCopiers());
    emit_block(kernel_.getBody().front());
    indent_ = 0;
    line("}}");
    return text_;
  }

 private:
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

  void emit_block(Block& block) {
    for (Operation& op : block)
      if (!Expressions::is_inlined(&op)) emit(op);
  }

  void emit_region(Region& region) {
    indent_ += 2;
    emit_block(region.front());
    indent_ -= 2;
    line("}}");
  }

  void emit(Operation& op) {
    llvm::TypeSwitch<Operation*>(&op)
        .Case<warp::RingOp, warp::BufferOp, warp::FloatsOp, warp::RoleOp, warp::OwnColumnOp, warp::LoopOp,
              warp::YieldOp, warp::SlabsOp, warp::OnWarpOp, warp::CopyOp, warp::CurrentOp, warp::PublishMaxOp,
              warp::ScaleForOp, warp::LoadOp, warp::StoreOp, warp::LoadVectorOp, warp::StoreVectorOp, warp::AddVectorOp,
              warp::ParameterOp, warp::TokensOp, warp::LoadSavedOp, warp::SaveStateOp, warp::KeepStateOp,
              warp::StoreTokensOp, warp::StoreSumOp, warp::CallOp, warp::RoundOp, warp::WidenOp, warp::ZerosOp,
              warp::MmaOp, warp::LoadStateOp, warp::StoreStateOp, warp::StoreOutputOp>([&](auto o) { write(o); })
        .Case<warp::BarrierOp>([&](auto o) { write(o); })
        .Case<warp::CommitCopiesOp>([&](auto) { line("commit_copies();"); })
        .Case<warp::WaitCopiesOp>([&](auto o) { line("wait_copies<{}>();", o.getPending()); })
        .Case<warp::NoteOp>([&](auto o) { write_note(o.getText()); })
        .Default([](Operation* o) { internal_error("no text for '{}'", o->getName().getStringRef().str()); });
  }

  void write_note(llvm::StringRef note) {
    if (note.contains_insensitive("\n") || note.ends_with("\\")) user_error("kernel: a note is one line of text");
    line("// {}", note.str());
  }

  const char* copiers() { return kernel_.getCopiers() ? "copiers" : "block"; }

  void write(warp::RingOp op) {
    auto type = op.getType();
    bool backward = op.getBackward();
    const char* range = in_groups_ ? (backward ? ", last, first - 1" : ", first, last")
                        : backward ? ", chunks - 1"
                                   : "";
    line("{}<{}, {}, {}> {}(block.memory + {}, {}, {}{});",
         backward     ? "BackwardRing"
         : in_groups_ ? "BoundedRing"
                      : "Ring",
         dtype_text(cast<MemRefType>(type).getElementType()), shape_text(type), op.getStages(), declare(op.getResult()),
         op.getOffset(), tensor(op.getTensor()), copiers(), range);
  }

  void write(warp::BufferOp op) {
    auto type = cast<MemRefType>(op.getType());
    std::string shape = dtype_text(type.getElementType()) + ", " + shape_text(type);
    std::string name = declare(op.getResult());
    if (op.getSlabs())
      line("const auto {} = block.{}_slabs<{}>({}, {});", name, *op.getSlabs() == "rows" ? "row" : "column", shape,
           op.getOffset(), *op.getScale());
    else if (op.getScale())
      line("const auto {} = block.scaled_shared<{}>({}, {});", name, shape, op.getOffset(), *op.getScale());
    else
      line("const auto {} = block.shared<{}>({});", name, shape, op.getOffset());
  }

  void write(warp::FloatsOp op) {
    line("float* const {} = block.floats({});", declare(op.getResult()), op.getOffset());
  }

  // Roles meet at a barrier from different places in the text, which the block's own does not allow.
  void write(warp::BarrierOp op) {
    if (op->getParentOfType<warp::RoleOp>())
      line("block.barrier<1>({});", kernel_.getWarps());
    else
      line("block.barrier();");
  }

  void write(warp::RoleOp op) {
    if (op.getFirst() == 0)
      line("if (block.warp <= {}) {{", op.getLast());
    else
      line("if (block.warp >= {} && block.warp <= {}) {{", op.getFirst(), op.getLast());
    emit_region(op.getBody());
  }

  void write(warp::OwnColumnOp op) {
    line("const int {} = 16 * (block.warp - {});", declare(op.getResult()), op.getFirst());
  }

  void write(warp::LoopOp op) {
    for (auto [state, init] : llvm::zip_equal(op.getBody().getArguments(), op.getInit()))
      line("auto {} = {};", names_.declare(state, name_of(state)), expr(init));
    if (op.getOver() == "groups")
      write_groups(op);
    else
      write_chunks(op);
    for (auto [state, result] : llvm::zip_equal(op.getBody().getArguments(), op.getResults()))
      names_.alias(result, state);
  }

  void write_groups(warp::LoopOp op) {
    auto every = kernel_.getSavedEvery();
    line("for (long long g = (chunks + {}) / {} - 1; g >= 0; --g) {{", every - 1, every);
    line("  const long long first = {} * g, last = (first + {} < chunks ? first + {} : chunks) - 1;  // chunks", every,
         every, every);
    in_groups_ = true;
    emit_region(op.getBody());
    in_groups_ = false;
  }

  void write_chunks(warp::LoopOp op) {
    bool group = op.getOver() == "group";
    if (op.getBackward())
      line("for (long long c = {}; c >= {}; --c) {{", group ? "last" : "chunks - 1", group ? "first" : "0");
    else
      line("for (long long c = {}; c < {}; ++c) {{", group ? "first" : "0", group ? "last" : "chunks");
    line("  const int valid = valid_rows<{}>(args.tokens, c);  // tokens of this chunk", kernel_.getChunk());
    loop_ = op;
    emit_region(op.getBody());
    loop_ = {};
  }

  void write(warp::YieldOp op) {
    auto arguments = cast<warp::LoopOp>(op->getParentOp()).getBody().getArguments();
    for (auto [argument, next] : llvm::zip_equal(arguments, op.getNext()))
      if (expr(next) != names_.of(argument)) line("{} = {};", names_.of(argument), expr(next));
  }

  void write(warp::SlabsOp op) {
    std::string column = names_.declare(op.getBody().getArgument(0), "column");
    line("for (int {} = 16 * block.warp; {} < {}; {} += 16 * block.warps) {{", column, column, op.getColumns(), column);
    emit_region(op.getBody());
  }

  void write(warp::OnWarpOp op) {
    line("if (block.warp == {}) {{", op.getWarp());
    emit_region(op.getBody());
  }

  void write(warp::CopyOp op) {
    bool backward = op.getRing().getDefiningOp<warp::RingOp>().getBackward();
    const char* start = in_groups_ ? (backward ? "last" : "first") : backward ? "chunks - 1" : "0";
    std::string chunk = loop_ ? "c" : start;
    if (op.getAhead()) chunk += fmt::format(" {} {}", backward ? '-' : '+', op.getAhead());
    line("{}.copy({}, {}, args.tokens);", names_.of(op.getRing()), chunk, copiers());
  }

  void write(warp::CurrentOp op) { line("const auto {} = {}[c];", declare(op.getResult()), names_.of(op.getRing())); }

  void write(warp::PublishMaxOp op) {
    line("publish_max({}, {}, copied_max({}, {}));", names_.of(op.getSlots()), copiers(), names_.of(op.getTile()),
         copiers());
  }

  void write(warp::ScaleForOp op) {
    std::string product;
    for (Value slots : op.getSlots()) product += fmt::format("block_max({}, {}) * ", names_.of(slots), copiers());
    line("const float {} = scale_for({}{});", declare(op.getResult()), product, float_text(op.getFactor()));
  }

  void write(warp::LoadOp op) { line("const auto {} = {};", declare(op.getResult()), expressions_.load(op)); }

  void write(warp::StoreOp op) {
    auto round = op.getX().getDefiningOp<warp::RoundOp>();
    auto buffer = op.getTile().getDefiningOp<warp::BufferOp>();
    // A scale that every warp knows is not stored with the tile.
    bool data_only = round && (round.getScale() || round.getOwn()) && buffer && !buffer.getScale();
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

  void write(warp::StoreVectorOp op) {
    std::string to = names_.of(op.getTo());
    int64_t count = length(op.getX().getType());
    if (op.getPart())
      to += op.getColumn() ? fmt::format(" + {} * ({} / 16)", count, names_.of(op.getColumn()))
                           : fmt::format(" + {} * block.warp", count);
    else if (op.getColumn())
      to += " + " + names_.of(op.getColumn());
    line("store_{}({}, {});", is_row(op.getX().getType()) ? "row" : "column", to, expr(op.getX()));
  }

  // The first of 16 numbers: those of a slab, or of this warp's value rows.
  std::string place(Value column) const { return column ? names_.of(column) : "row0"; }

  void write(warp::AddVectorOp op) {
    std::string to = names_.of(op.getTo()) + " + " + place(op.getColumn());
    const char* kind = op.getColumn() ? "row" : "column";
    line("store_{}({}, load_{}<16>({}) + {});", kind, to, kind, to, expr(op.getX()));
  }

  void write(warp::TokensOp op) {
    line("const auto {} = load_tokens_{}<{}, {}>({}, block, {} * c, valid);", declare(op.getResult()),
         is_row(op.getType()) ? "row" : "column", dtype_text(op.getDtype()), length(op.getType()),
         tensor(op.getTensor()), kernel_.getChunk());
  }

  void write(warp::StoreTokensOp op) {
    line("store_tokens<{}>({}, block, {} * c, valid, {});", dtype_text(op.getDtype()), tensor(op.getTensor()),
         kernel_.getChunk(), expr(op.getX()));
  }

  void write(warp::StoreSumOp op) {
    std::string column = place(op.getColumn());
    const char* kind = op.getColumn() ? "row" : "column";
    line("store_parameter_{}<f32>({}, block, {}, load_{}<16>({} + {}));", kind, tensor(op.getTensor()), column, kind,
         names_.of(op.getFrom()), column);
  }

  // The row of the saved states [N,V,K] where those before chunk c begin.
  std::string saved_row() {
    std::string index = kernel_.getSavedEvery() == 1 ? "c" : fmt::format("(c / {})", kernel_.getSavedEvery());
    return fmt::format("{} * {} + row0", kernel_.getValueDim(), index);
  }

  void write(warp::LoadSavedOp op) {
    std::string name = declare(op.getResult());
    auto every = kernel_.getSavedEvery();
    line("auto {} = zeros<{}>();", name, shape_text(op.getType()));
    std::string row = in_groups_ && !loop_ ? fmt::format("{} * g + row0", kernel_.getValueDim()) : saved_row();
    std::string load =
        fmt::format("load_state<{}>({}, {}, block, {});", dtype_text(op.getDtype()), name, tensor(op.getTensor()), row);
    if (!op.getRecomputed()) {
      line("{}", load);
      return;
    }
    line("if (c == first)");
    line("  {}", load);
    line("else");
    line("  load_state({}, {}, block, {} * (c % {}) + row0);", name, tensor(*op.getRecomputed()), kernel_.getValueDim(),
         every);
  }

  void write(warp::KeepStateOp op) {
    line("store_state({}, {}, block, {} * ((c + 1) % {}) + row0);", expr(op.getX()), tensor(op.getTensor()),
         kernel_.getValueDim(), kernel_.getSavedEvery());
  }

  void write(warp::SaveStateOp op) {
    std::string condition =
        kernel_.getSavedEvery() == 1 ? "" : fmt::format("if (c % {} == 0) ", kernel_.getSavedEvery());
    line("{}store_state<{}>({}, {}, block, {});", condition, dtype_text(op.getDtype()), expr(op.getX()),
         tensor(op.getTensor()), saved_row());
  }

  void write(warp::ParameterOp op) {
    line("const auto {} = load_parameter_{}<{}, 16>({}, block, {});", declare(op.getResult()),
         op.getColumn() ? "row" : "column", dtype_text(op.getDtype()), tensor(op.getTensor()), place(op.getColumn()));
  }

  void write(warp::CallOp op) {
    llvm::StringRef function = op.getFunction();
    if (!function.starts_with("decayed_")) {
      line("{}auto {} = {};", is_accumulator(op.getResult()) ? "" : "const ", declare(op.getResult()),
           expressions_.statement(op));
      return;
    }
    std::string name = declare(op.getResult());
    line("auto {} = zeros<{}>();", name, shape_text(op.getType()));
    bool strict = function.consume_back("_strict");
    auto slab = [&](int i) { return expressions_.columns(op.getX()[i], op.getColumn(), false); };
    line("{}<{}>({}, {}, {}, {}, {});", function.str(), !strict, name, expr(op.getX()[0]), slab(1), slab(2), slab(3));
  }

  void write(warp::RoundOp op) { line("const auto {} = {};", declare(op.getResult()), expressions_.statement(op)); }

  void write(warp::WidenOp op) {
    std::string x = expr(op.getX());
    if (op.getScale()) x = fmt::format("scaled({}, {})", x, expr(op.getScale()));
    line("const auto {} = widen({});", declare(op.getResult()), x);
  }

  void write(warp::ZerosOp op) {
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
      auto mma = dyn_cast<warp::MmaOp>(user);
      return mma && mma.getAcc() == value && accumulates_in_place(mma);
    });
  }

  void write(warp::MmaOp op) {
    if (accumulates_in_place(op))
      names_.alias(op.getResult(), op.getAcc());
    else
      line("auto {} = {};", declare(op.getResult()), expr(op.getAcc()));
    line("mma_nt({}, {}, {});", names_.of(op.getResult()),
         expressions_.operand(op.getX(), {}, op.getXScale(), op.getXTransposed()),
         expressions_.operand(op.getY(), op.getYColumn(), op.getYScale(), op.getYTransposed()));
  }

  void write(warp::LoadStateOp op) {
    std::string name = declare(op.getResult());
    line("auto {} = zeros<{}>();", name, shape_text(op.getType()));
    line("load_state({}, {}, block, row0);", name, tensor(op.getTensor()));
  }

  void write(warp::StoreStateOp op) {
    line("store_state({}, {}, block, row0);", expr(op.getX()), tensor(op.getTensor()));
  }

  void write(warp::StoreOutputOp op) {
    line("store_global{}<{}>({}, block, {} * c, valid, {}, {});", op.getTransposed() ? "_transposed" : "",
         dtype_text(op.getDtype()), tensor(op.getTensor()), kernel_.getChunk(), place(op.getColumn()), expr(op.getX()));
  }

  warp::KernelOp kernel_;
  Manifest manifest_;
  Identifiers names_;
  Expressions expressions_;
  std::map<std::string, std::string> tensors_;  // name → variable
  std::string text_;
  int indent_ = 0;
  warp::LoopOp loop_;  // over chunks, around what is written
  bool in_groups_ = false;
};

}  // namespace

std::string emit_cuda(warp::KernelOp kernel) { return Emitter(kernel).run(); }

std::string emit_cuda(warp::BatchSumOp kernel) {
  std::string manifest = to_line(manifest_of(kernel));
  int64_t extent = kernel.getDim() == "K" ? kernel.getKeyDim() : kernel.getValueDim();
  return fmt::format(
      "// {}: sums gradients of a parameter over the batches, one block a head.\n{}#include \"wkvc/tile.h\"\n\n"
      "using namespace wkvc;\n\nWKVC_KERNEL({}, 2, 1, 1) {{\n  sum_batches<{}, {}>(args.tensor[1], args.tensor[0], "
      "block, args.batches);\n}}\n",
      kernel.getSymName().str(), manifest, kernel.getSymName().str(), dtype_text(kernel.getDtype()), extent);
}

}  // namespace wkvc
