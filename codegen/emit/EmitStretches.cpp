// Kernels with scales: where tokens of a chunk differ by more than f16 carries beside each other, a block goes through
// its tokens once more, and through those of such a chunk one by one (templates/wkvc/common/block/stretches.h).
#include <set>

#include "codegen/emit/Emitter.h"
#include "codegen/warp/Variables.h"

using namespace mlir;

namespace wkvc {

namespace {

// The inputs of tokens that scales are taken from, as rings copy them.
llvm::SmallVector<warp::RingOp> scaling_rings(warp::KernelOp kernel, const Manifest& manifest) {
  llvm::SmallVector<warp::RingOp> rings;
  std::set<std::string> kept;
  for (const TensorSpec& spec : manifest.tensors)
    if (spec.role == Role::kept) kept.insert(spec.name);
  kernel.walk([&](warp::RingOp ring) {
    if (maximum_of(ring) && !kept.contains(ring.getTensor().str())) rings.push_back(ring);
  });
  return rings;
}

// Returns whether an operation comes before all stretches.
bool comes_before(Operation& op) { return isa<warp::OnlyRefusedOp, warp::BufferOp, warp::FloatsOp>(op); }

}  // namespace

bool Emitter::goes_in_stretches() {
  return !kernel_.getSummary() && !kernel_.getBackward() && !scaling_rings(kernel_, manifest_).empty();
}

void Emitter::begin_stretches(std::string first, std::string end) {
  first_of_block_ = std::move(first), end_of_block_ = std::move(end);
  line("Stretches<{}> stretches({}, {});  // of tokens: all, and again where those of a chunk differ too much",
       kernel_.getChunk(), first_of_block_, end_of_block_);
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

// The body of a kernel: stretches around what goes through tokens.
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

// A function of a chunk: whether its tokens differ too much in one of the inputs that scales are taken from.
std::string Emitter::differ() {
  std::vector<std::string> inputs;
  std::set<std::string> seen;
  for (warp::RingOp ring : scaling_rings(kernel_, manifest_)) {
    if (!seen.insert(ring.getTensor().str()).second) continue;
    inputs.push_back(fmt::format("tokens_differ<{}, {}>({}, args, block, c)",
                                 dtype_text(cast<MemRefType>(ring.getType()).getElementType()),
                                 shape_text(ring.getType()), tensor(ring.getTensor())));
  }
  return fmt::format("[&](int c) {{ return {}; }}", fmt::join(inputs, " || "));
}

}  // namespace wkvc
