// Kernels with scales: where tokens of a chunk differ by more than f16 carries beside each other, a block goes through
// its tokens once more, and through those of such a chunk one by one (templates/wkvc/common/block/stretches.h).
#include <set>

#include "codegen/emit/Emitter.h"
#include "codegen/rec/Rec.h"
#include "codegen/warp/KeptStates.h"
#include "codegen/warp/Registers.h"
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

// Opens the body of a kernel: a function that is called with all tokens, or with a stretch of them.
void Emitter::open_stretches() {
  const int64_t columns = cast<VectorType>(final_state().getX().getType()).getDimSize(1);
  const std::string cluster = is_cluster() ? fmt::format(", {}", kernel_.getCluster()) : "";
  line(
      "// Through all tokens, and again where those of a chunk differ too much; the state goes from stretch to "
      "stretch.");
  line("go_through<{}, {}{}>(args, block, [](const KernelArgs<{}>& args, const Block& block, auto& stretches,",
       stretches_type(), columns, cluster, manifest_.tensors.size());
  line("    Tile<f32, 16, {}>& carried) {{", columns);
  indent_ += 2;
}

void Emitter::close_stretches() {
  indent_ -= 2;
  line("}});");
}

warp::StoreStateOp Emitter::final_state() { return *kernel_.getBody().front().getOps<warp::StoreStateOp>().begin(); }

// Returns the type of the stretches of a block whose tokens differ too much.
std::string Emitter::stretches_type() {
  if (!kernel_.getBackward()) return fmt::format("ForwardStretches<{}>", kernel_.getChunk());
  return fmt::format("BackwardStretches<{}, {}{}>", kernel_.getChunk(), std::max<uint64_t>(kernel_.getSavedEvery(), 1),
                     advances() ? "" : ", false");
}

// `first`, `behind`: the chunks of the block.
void Emitter::start_stretch(const std::string& first, const std::string& behind) {
  first_of_block_ = first;
  in_block_ = fmt::format("args, block, {}, {}, differ", first, behind);
  write_differ();
  line("stretches.start({});", in_block_);
  line("const int begin = stretches.begin(), end = stretches.end();");
}

// Ends a stretch, and the function if another one follows. `back`: how a warp comes back to the registers that it was
// launched with, before the first of those.
void Emitter::write_goes_on(const char* back) {
  line("if (stretches.goes_on({})) {{", in_block_);
  if (const auto registers = warp::role_registers(kernel_))
    line("  if (!stretches.is_again()) block.{}<{}>();", back, registers->launched);
  line("  return;");
  line("}}");
}

std::string Emitter::valid_tokens(const std::string& chunk) {
  if (in_stretches_) return fmt::format("stretches.tokens(args, block, {})", chunk);
  return fmt::format("valid_rows<{}>(tokens_of(args, block), {})", kernel_.getChunk(), chunk);
}

// Writes a function of a chunk that says whether its tokens differ too much in one of the inputs.
void Emitter::write_differ() {
  std::set<std::string> seen;
  line("const auto differ = [&](int c) {{");
  line("  bool any = false;");
  for (warp::RingOp ring : rings_looked_at())
    if (seen.insert(ring.getTensor().str()).second)
      line("  any = any || tokens_differ<{}, {}>({}, args, block, c);",
           dtype_text(cast<MemRefType>(ring.getType()).getElementType()), shape_text(ring.getType()),
           tensor(ring.getTensor()));
  line("  return any;");
  line("}};");
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
