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
    for (const char* used : {"args", "block", "c", "chunks", "valid", "row0"}) names_.unique(used);
    text_ = header_comment(kernel_) + "#include \"wkvc/tile.h\"\n\nusing namespace wkvc;\n\n";
    line("WKVC_KERNEL({}, {}, {}, {}) {{", manifest_.kernel, manifest_.tensors.size(), manifest_.warps,
         kernel_.getBlocks());
    indent_ = 2;
    for (size_t i = 0; i < manifest_.tensors.size(); ++i) {
      tensors_[manifest_.tensors[i].name] = names_.unique(manifest_.tensors[i].name + "_global");
      line("const TensorArg& {} = args.tensor[{}];", tensors_[manifest_.tensors[i].name], i);
    }
    line("const int row0 = 16 * block.warp;  // first of this warp's value rows");
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
        .Case<warp::RingOp, warp::BufferOp, warp::FloatsOp, warp::LoopOp, warp::YieldOp, warp::SlabsOp, warp::OnWarpOp,
              warp::CopyOp, warp::CurrentOp, warp::PublishMaxOp, warp::ScaleForOp, warp::LoadOp, warp::StoreOp,
              warp::LoadRowOp, warp::StoreRowOp, warp::ParameterOp, warp::CallOp, warp::RoundOp, warp::ZerosOp,
              warp::MmaOp, warp::LoadStateOp, warp::StoreStateOp, warp::StoreOutputOp>([&](auto o) { write(o); })
        .Case<warp::BarrierOp>([&](auto) { line("block.barrier();"); })
        .Case<warp::CommitCopiesOp>([&](auto) { line("commit_copies();"); })
        .Case<warp::WaitCopiesOp>([&](auto o) { line("wait_copies<{}>();", o.getPending()); })
        .Case<warp::NoteOp>([&](auto o) { write_note(o.getText()); })
        .Default([](Operation* o) { internal_error("no text for '{}'", o->getName().getStringRef().str()); });
  }

  void write_note(llvm::StringRef note) {
    if (note.contains_insensitive("\n") || note.ends_with("\\")) user_error("kernel: a note is one line of text");
    line("// {}", note.str());
  }

  void write(warp::RingOp op) {
    auto type = op.getType();
    line("Ring<{}, {}, {}> {}(block.memory + {}, {}, block);", dtype_text(cast<MemRefType>(type).getElementType()),
         shape_text(type), op.getStages(), declare(op.getResult()), op.getOffset(), tensor(op.getTensor()));
  }

  void write(warp::BufferOp op) {
    auto type = cast<MemRefType>(op.getType());
    std::string shape = dtype_text(type.getElementType()) + ", " + shape_text(type);
    std::string name = declare(op.getResult());
    if (op.getScale())
      line("const auto {} = block.scaled_shared<{}>({}, {});", name, shape, op.getOffset(), *op.getScale());
    else
      line("const auto {} = block.shared<{}>({});", name, shape, op.getOffset());
  }

  void write(warp::FloatsOp op) {
    line("float* const {} = block.floats({});", declare(op.getResult()), op.getOffset());
  }

  void write(warp::LoopOp op) {
    Value state = op.getBody().getArgument(0);
    std::string name = names_.declare(state, name_of(state));
    line("auto {} = {};", name, expr(op.getInit()));
    line("const long long chunks = (args.tokens + {}) / {};", kernel_.getChunk() - 1, kernel_.getChunk());
    line("for (long long c = 0; c < chunks; ++c) {{");
    indent_ += 2;
    line("const int valid = valid_rows<{}>(args.tokens, c);  // tokens of this chunk", kernel_.getChunk());
    indent_ -= 2;
    in_loop_ = true;
    emit_region(op.getBody());
    in_loop_ = false;
    names_.alias(op.getResult(), state);
  }

  void write(warp::YieldOp op) {
    std::string state = names_.of(op->getParentOfType<warp::LoopOp>().getBody().getArgument(0));
    if (expr(op.getNext()) != state) line("{} = {};", state, expr(op.getNext()));
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
    std::string chunk = in_loop_ ? fmt::format("c + {}", op.getAhead()) : std::to_string(op.getAhead());
    line("{}.copy({}, block, args.tokens);", names_.of(op.getRing()), chunk);
  }

  void write(warp::CurrentOp op) { line("const auto {} = {}[c];", declare(op.getResult()), names_.of(op.getRing())); }

  void write(warp::PublishMaxOp op) {
    line("publish_max({}, block, copied_max({}, block));", names_.of(op.getSlots()), names_.of(op.getTile()));
  }

  void write(warp::ScaleForOp op) {
    std::string product;
    for (Value slots : op.getSlots()) product += fmt::format("block_max({}, block) * ", names_.of(slots));
    line("const float {} = scale_for({}{});", declare(op.getResult()), product, float_text(op.getFactor()));
  }

  void write(warp::LoadOp op) { line("const auto {} = {};", declare(op.getResult()), expressions_.load(op)); }

  void write(warp::StoreOp op) {
    auto round = op.getX().getDefiningOp<warp::RoundOp>();
    auto buffer = op.getTile().getDefiningOp<warp::BufferOp>();
    // A scale that every warp knows is not stored with the tile.
    bool data_only = round && (round.getScale() || round.getOwn()) && buffer && !buffer.getScale();
    line("store({}, {}{});", expressions_.columns(op.getTile(), op.getColumn(), false), expr(op.getX()),
         data_only ? ".data" : "");
  }

  void write(warp::LoadRowOp op) {
    int64_t width = cast<VectorType>(op.getType()).getDimSize(1);
    std::string from = names_.of(op.getRow());
    if (op.getColumn()) from += " + " + names_.of(op.getColumn());
    line("const auto {} = load_row<{}>({});", declare(op.getResult()), width, from);
  }

  void write(warp::StoreRowOp op) {
    line("store_row({} + {}, {});", names_.of(op.getRow()), names_.of(op.getColumn()), expr(op.getX()));
  }

  void write(warp::ParameterOp op) {
    line("const auto {} = load_parameter_row<{}, 16>({}, block, {});", declare(op.getResult()),
         dtype_text(op.getDtype()), tensor(op.getTensor()), names_.of(op.getColumn()));
  }

  void write(warp::CallOp op) {
    llvm::StringRef function = op.getFunction();
    if (!function.starts_with("decayed_dot")) {
      line("{}auto {} = {};", is_accumulator(op.getResult()) ? "" : "const ", declare(op.getResult()),
           expressions_.statement(op));
      return;
    }
    std::string name = declare(op.getResult());
    line("auto {} = zeros<{}>();", name, shape_text(op.getType()));
    line("decayed_dot<{}>({}, {}, {}, {}, {});", function == "decayed_dot", name, expr(op.getX()[0]),
         expr(op.getX()[1]), expr(op.getX()[2]), expr(op.getX()[3]));
  }

  void write(warp::RoundOp op) { line("const auto {} = {};", declare(op.getResult()), expressions_.statement(op)); }

  void write(warp::ZerosOp op) { line("auto {} = zeros<{}>();", declare(op.getResult()), shape_text(op.getType())); }

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
         expressions_.operand(op.getX(), op.getXScale(), op.getXTransposed()),
         expressions_.operand(op.getY(), op.getYScale(), op.getYTransposed()));
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
    line("store_global{}<{}>({}, block, {} * c, valid, row0, {});", op.getTransposed() ? "_transposed" : "",
         dtype_text(op.getDtype()), tensor(op.getTensor()), kernel_.getChunk(), expr(op.getX()));
  }

  warp::KernelOp kernel_;
  Manifest manifest_;
  Identifiers names_;
  Expressions expressions_;
  std::map<std::string, std::string> tensors_;  // name → variable
  std::string text_;
  int indent_ = 0;
  bool in_loop_ = false;
};

}  // namespace

std::string emit_cuda(warp::KernelOp kernel) { return Emitter(kernel).run(); }

}  // namespace wkvc
