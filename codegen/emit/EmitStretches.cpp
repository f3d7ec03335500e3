// Kernels with scales: where tokens of a chunk differ by more than f16 carries beside each other, a block goes through
// its tokens once more, and through those of such a chunk one by one (templates/wkvc/common/block/stretches.h).
#include <set>

#include "codegen/emit/Emitter.h"
#include "codegen/rec/Rec.h"
#include "codegen/warp/KeptStates.h"
#include "codegen/warp/Variables.h"

using namespace mlir;

namespace wkvc {

namespace {

// Returns whether an operation makes a tile of products of its operand.
bool is_linear(Operation* op) {
  if (auto call = dyn_cast<warp::CallOp>(op))
    return llvm::is_contained({"widen", "mul", "mul_constant", "neg", "keep_valid", "keep_valid_columns"},
                              call.getFunction());
  return isa<warp::LoadOp, warp::WidenOp, warp::WidenOverOp, warp::TransposeOp>(op);
}

// Returns whether a tile, or its products with others, is an operand of 16 bits.
bool is_operand(Value x) {
  return llvm::any_of(x.getUsers(), [](Operation* user) {
    if (auto round = dyn_cast<warp::RoundOp>(user)) return !cast<VectorType>(round.getType()).getElementType().isF32();
    return isa<warp::MmaOp, warp::StoreOp>(user) || (is_linear(user) && is_operand(user->getResult(0)));
  });
}

// Returns whether an operation comes before all stretches.
bool comes_before(Operation& op) { return isa<warp::OnlyRefusedOp, warp::BufferOp, warp::FloatsOp>(op); }

}  // namespace

// Returns whether operands are made of an input, so that its tokens may differ too much.
bool Emitter::is_looked_at(warp::RingOp ring) const {
  if (is_kept(ring)) return false;
  const auto makes_operands = [](Operation* current) {
    return isa<warp::CurrentOp>(current) && is_operand(current->getResult(0));
  };
  return maximum_of(ring) || llvm::any_of(ring->getUsers(), makes_operands);
}

llvm::SmallVector<warp::RingOp> Emitter::rings_looked_at() {
  llvm::SmallVector<warp::RingOp> rings;
  bool have_scales = false;
  kernel_.walk([&](warp::RingOp ring) {
    if (!is_looked_at(ring)) return;
    rings.push_back(ring);
    have_scales |= !!maximum_of(ring);
  });
  return have_scales ? rings : llvm::SmallVector<warp::RingOp>();
}

// Returns whether the kernel has scales. A backward kernel that reads saved states has to bring a state on, too.
bool Emitter::goes_in_stretches() {
  const bool possible = !kernel_.getBackward() || !has_tensor("saved_states") || advances();
  auto& body = kernel_.getBody().front();
  const bool has_state = !body.getOps<warp::StoreStateOp>().empty();
  return possible && has_state && !kernel_.getSummary() && !rings_looked_at().empty();
}

bool Emitter::has_tensor(llvm::StringRef name) const {
  return llvm::any_of(manifest_.tensors, [&](const TensorSpec& spec) { return spec.name == name; });
}

bool Emitter::advances() const { return has_tensor(warp::kAdvanced); }

void Emitter::begin_stretches(std::string first, std::string end) {
  first_of_block_ = std::move(first), end_of_block_ = std::move(end);
  const std::string kind =
      kernel_.getBackward() ? fmt::format("BackwardStretches<{}, {}{}>", kernel_.getChunk(),
                                          std::max<uint64_t>(kernel_.getSavedEvery(), 1), advances() ? "" : ", false")
                            : fmt::format("ForwardStretches<{}>", kernel_.getChunk());
  line("{} stretches({}, {});  // of tokens: all, and again where those of a chunk differ too much", kind,
       first_of_block_, end_of_block_);
}

void Emitter::open_stretch() {
  line("do {{");
  indent_ += 2;
  names_.open_block();
  if (goes_ahead()) line("if (stretches.is_again()) begin_slots_again<Slots>(block, {});", warp::row_warps(kernel_));
  line("const int begin = stretches.begin(), end = stretches.end();");
}

void Emitter::close_stretch() {
  names_.close_block();
  indent_ -= 2;
  line("}} while (stretches.go_on{}(args, block, {}, {}, {}));",
       is_cluster() ? fmt::format("<{}>", kernel_.getCluster()) : "", first_of_block_, end_of_block_, differ());
}

// Writes the body of a kernel: stretches around all that goes through tokens.
void Emitter::write_body(Block& body) {
  auto store = *body.getOps<warp::StoreStateOp>().begin();
  auto open = llvm::find_if_not(body, comes_before);
  emit_all(llvm::make_range(body.begin(), open));
  if (goes_ahead()) {  // warps that prepare rounds have stretches of their own
    const auto prepare = llvm::find_if(body, [](Operation& op) { return isa<warp::PrepareOp>(op); });
    for (Operation& op : llvm::make_range(open, std::next(prepare)))
      if (auto start = dyn_cast<warp::TeamOp>(op))
        start_of_teams_ = start;
      else if (!warp::is_inlined(&op) && !joins_last(op))
        emit(op);
    start_of_teams_ = {};
    open = std::next(prepare);
  }
  carried_ = names_.unique("carried");
  line("auto {} = zeros<{}>();  // the state from stretch to stretch", carried_, shape_text(store.getX().getType()));
  open_stretch();
  emit_all(llvm::make_range(open, Block::iterator(store)));
  line("{} = {};", carried_, expr(store.getX()));
  close_stretch();
  emit_all(llvm::make_range(Block::iterator(store), body.end()));
}

std::string Emitter::valid_tokens(const std::string& chunk) {
  if (in_stretches_) return fmt::format("stretches.tokens(args, block, {})", chunk);
  return fmt::format("valid_rows<{}>(tokens_of(args, block), {})", kernel_.getChunk(), chunk);
}

// Returns the text of a function of a chunk that says whether its tokens differ too much in one of the inputs.
std::string Emitter::differ() {
  std::vector<std::string> inputs;
  std::set<std::string> seen;
  for (warp::RingOp ring : rings_looked_at()) {
    if (!seen.insert(ring.getTensor().str()).second) continue;
    inputs.push_back(fmt::format("tokens_differ<{}, {}>({}, args, block, c)",
                                 dtype_text(cast<MemRefType>(ring.getType()).getElementType()),
                                 shape_text(ring.getType()), tensor(ring.getTensor())));
  }
  return fmt::format("[&](int c) {{ return {}; }}", fmt::join(inputs, " || "));
}

// The chunks of a group that are in the stretch. A stretch that only brings a state on takes it through all of them.
void Emitter::write_group_of_stretch() {
  const auto every = kernel_.getSavedEvery();
  line("  const int group = {} * g, first = group > begin ? group : begin;", every);
  line(
      "  const int last = (group + {0} < end ? group + {0} : end) - 1, behind = last + stretches.advances();  // "
      "chunks",
      every);
}

std::string Emitter::first_of_next_group() {
  const auto every = kernel_.getSavedEvery();
  if (!in_stretches_) return fmt::format("first - {}", every);
  return fmt::format("(group - {0} > begin ? group - {0} : begin)", every);
}

// Behind the loop that takes the saved state forward: a stretch that only brings the state on ends here.
void Emitter::write_advance(warp::LoopOp op) {
  const std::string state = names_.of(op.getBody().getArgument(0));
  const bool scaled = isa_and_nonnull<warp::WithScaleOp>(op.getInit().getDefiningOp());
  const Type saved = rec::mlir_type(spec_of(warp::kAdvanced).dtype, kernel_.getContext());
  line("if (stretches.advances(){}) {{", in_groups_ ? " && first <= last" : "");
  line("  {}({}, {}, block, {});", keep(saved), scaled ? fmt::format("widen({})", state) : state,
       tensor(warp::kAdvanced), advanced_row());
  line("  wait_copies<0>();");
  line("  break;");
  line("}}");
}

std::string Emitter::advanced_row() {
  return is_cut() ? fmt::format("{}LL * block.segment + row0", kernel_.getValueDim()) : "row0";
}

// Returns the tensor of saved states, or that of the state that was brought on, where the stretch begins with that one.
std::string Emitter::saved_states(llvm::StringRef name) {
  if (!in_stretches_ || spec_of(name).role != Role::saved_states) return tensor(name);
  return fmt::format("stretches.is_advanced() ? {} : {}", tensor(warp::kAdvanced), tensor(name));
}
std::string Emitter::saved_row(llvm::StringRef name, const std::string& row) {
  if (!in_stretches_ || spec_of(name).role != Role::saved_states) return row;
  return fmt::format("stretches.is_advanced() ? {} : {}", advanced_row(), row);
}

}  // namespace wkvc
