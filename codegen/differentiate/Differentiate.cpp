#include "codegen/differentiate/Differentiate.h"

#include <mlir/IR/IRMapping.h>

#include <algorithm>
#include <map>

#include "codegen/chunk/Axes.h"
#include "codegen/chunk/DropUnused.h"
#include "codegen/chunk/Names.h"
#include "codegen/differentiate/KeptMatrices.h"
#include "codegen/differentiate/Vjp.h"
#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

class Differentiation {
 public:
  Differentiation(chunk::ProgramOp forward, chunk::ProgramOp backward, OpBuilder& builder,
                  const std::vector<std::string>& wanted)
      : forward_(forward),
        backward_(backward),
        spaces_(infer_spaces(forward)),
        b_(builder, forward.getLoc(), forward.getCompute().str()),
        adjoints_(b_, space_of_),
        wanted_(wanted) {}

  void run() {
    clone_forward();
    seed();
    Vjp vjp(b_, adjoints_, active_, space_of_);
    for (Operation* op : llvm::reverse(cloned_)) {
      Value result = op->getResult(0);
      Term g = adjoints_.of(result);
      if (!g.value || !active_.contains(result)) continue;
      finish(result, g);
      vjp(op, g);
    }
    for (Operation* op : cloned_) write_gradient(op);
    for (const auto& [name, inverse] : kept_inverses(forward_))
      read_kept(copies_.lookup(inverse), name, kept_dtype(forward_));
    drop_unused(backward_);
    name_operands(backward_);
    keep_inverses();
  }

 private:
  // The forward program up to what it gives, from the saved state.
  void clone_forward() {
    for (Operation& op : forward_.getBody().front()) {
      if (isa<chunk::OutputOp, chunk::UpdateOp>(op)) continue;
      Operation* copy;
      if (auto state = dyn_cast<chunk::StateOp>(op)) {
        copy = b_.create<chunk::SavedStateOp>(state.getType(), state.getSym(), state.getExponentAttr());
        copies_.map(state.getResult(), copy->getResult(0));
        set_name(copy->getResult(0), name_of(state.getResult()));
      } else {
        copy = b_.builder().clone(op, copies_);
      }
      cloned_.push_back(copy);
      Value result = copy->getResult(0);
      if (is_leaf(copy) ||
          (!is_anchor(copy) && llvm::any_of(copy->getOperands(), [&](Value x) { return active_.contains(x); })))
        active_.insert(result);
      space_of_[result] = spaces_.lookup(op.getResult(0));
      if (auto round = dyn_cast<chunk::RoundOp>(copy)) b_.adopt(round);
      if (measurable(result)) b_.set_measurable(result);
    }
  }

  static bool is_anchor(Operation* op) {
    auto row = dyn_cast<chunk::RowOp>(op);
    return row && row.getAnchor();
  }

  // What gradients are wanted of. The state's always is: it leads to earlier tokens.
  bool is_leaf(Operation* op) const {
    if (isa<chunk::SavedStateOp>(op)) return true;
    if (!isa<chunk::InputOp, chunk::ParameterOp>(op)) return false;
    auto name = chunk::symbol(op);
    return wanted_.empty() || llvm::is_contained(wanted_, name.str());
  }

  // One warp makes each scaled part of a matrix over values or of a C×C one; C×K slabs of several warps share a scale.
  bool measurable(Value x) const {
    Space space = space_of_.lookup(x);
    return space.rows == Axis::value || space.columns == Axis::value || space == Space{Axis::token, Axis::token};
  }

  void seed() {
    auto state = *forward_.getBody().getOps<chunk::StateOp>().begin();
    // By the chain rule its power is the inverse.
    IntegerAttr exponent = state.getExponent() ? b_.builder().getI64IntegerAttr(-chunk::exponent_of(state)) : nullptr;
    Value dS = b_.create<chunk::StateOp>(state.getType(), gradient_name(state.getSym()), exponent);
    set_name(dS, gradient_name(state.getSym()));
    for (auto output : forward_.getBody().getOps<chunk::OutputOp>()) {
      Value x = output.getX();
      auto type = RankedTensorType::get({chunk::rows(x), chunk::columns(x)},
                                        element_type(forward_.getContext(), output.getDtype()));
      Value incoming =
          b_.create<chunk::InputOp>(type, gradient_name(output.getSym()), dims_of(spaces_.lookup(x)).substr(1),
                                    output.getSymAttr(), /*kept=*/false);
      set_name(incoming, gradient_name(output.getSym()));
      adjoints_.add(copies_.lookup(x), {b_.widen(incoming)});
    }
    for (auto update : forward_.getBody().getOps<chunk::UpdateOp>()) adjoints_.add(copies_.lookup(update.getX()), {dS});
  }

  // The gradient is complete when its operation is reached.
  void finish(Value primal, Term g) {
    if (measurable(primal)) b_.set_measurable(g.value);
    auto name = isa<chunk::RoundOp>(primal.getDefiningOp()) ? llvm::StringRef() : name_of(primal);
    if (!name.empty() && g.factor == 1) b_.name(g.value, gradient_name(name));
  }

  void write_gradient(Operation* op) {
    if (!isa<chunk::SavedStateOp, chunk::InputOp, chunk::ParameterOp>(op) || !is_leaf(op)) return;
    Value primal = op->getResult(0);
    Term g = adjoints_.of(primal);
    if (!g.value)
      g.value = b_.zeros(b_.f32_type(chunk::rows(primal), chunk::columns(primal)), dims_of(space_of_.lookup(primal)));
    Value gradient = adjoints_.apply_factor(g);
    if (name_of(gradient).empty()) set_name(gradient, gradient_name(name_of(primal)));
    if (isa<chunk::SavedStateOp>(op)) {
      b_.create<chunk::UpdateOp>(gradient);
      return;
    }
    auto name = op->getAttrOfType<StringAttr>("sym");
    std::string dtype = dtype_text(chunk::element(primal));
    if (isa<chunk::ParameterOp>(op))
      b_.create<chunk::AccumulateOp>(gradient_name(name.getValue()), gradient, name.getValue(), dtype);
    else if (auto input = dyn_cast<chunk::InputOp>(op))
      b_.create<chunk::OutputOp>(gradient_name(name.getValue()), gradient, dtype, name, /*kept=*/false,
                                 input.getShared(), input.getOfHead(), forward_.isSummedOverBlocks(input.getDim()));
  }

  // A serial chain each, but small: the forward pass keeps those that the gradients need.
  void keep_inverses() {
    OpBuilder forward = OpBuilder::atBlockEnd(&forward_.getBody().front());
    for (const auto& [name, inverse] : kept_inverses(forward_)) {
      auto reads_it = [&](chunk::InputOp input) { return input.getSym() == name; };
      if (llvm::any_of(backward_.getBody().getOps<chunk::InputOp>(), reads_it))
        chunk::OutputOp::create(forward, inverse.getLoc(), name, inverse, kept_dtype(forward_), StringAttr(),
                                /*kept=*/true);
    }
  }

  chunk::ProgramOp forward_, backward_;
  Spaces spaces_;
  ChunkBuilder b_;
  Spaces space_of_;  // of the copies
  Adjoints adjoints_;
  const std::vector<std::string>& wanted_;
  IRMapping copies_;
  std::vector<Operation*> cloned_;
  llvm::DenseSet<Value> active_;
};

void expect_known(chunk::ProgramOp forward, const std::vector<std::string>& wanted) {
  std::vector<std::string> known;
  for (Operation& op : forward.getBody().front())
    if (isa<chunk::InputOp, chunk::ParameterOp>(op)) known.push_back(chunk::symbol(&op).str());
  known.emplace_back("initial_state");
  for (const std::string& name : wanted)
    if (!llvm::is_contained(known, name))
      user_error("--grad: '{}' has no input or parameter '{}'; there are {}", forward.getRecurrence().str(), name,
                 fmt::join(known, ", "));
}

// Returns whether the gradient of an input is a sum, which a kernel of its own makes.
bool is_summed(chunk::InputOp input, chunk::ProgramOp forward) {
  return input.getShared() || input.getOfHead() || forward.isSummedOverBlocks(input.getDim());
}

// The names that a backward pass adds, and what they are of.
std::map<std::string, std::string> added_names(chunk::ProgramOp forward, const std::vector<std::string>& wanted) {
  std::map<std::string, std::string> names{{"saved_states", "the states that the forward pass saves"},
                                           {"dinitial_state", "the gradient of the initial state"},
                                           {"dfinal_state", "the gradient of the final state"}};
  for (const auto& [name, inverse] : kept_inverses(forward)) names[name] = "an inverse that the forward pass saves";
  for (Operation& op : forward.getBody().front()) {
    auto sym = op.getAttrOfType<StringAttr>("sym");
    bool source = isa<chunk::InputOp, chunk::ParameterOp>(op);
    if (!sym || (source && !wanted.empty() && !llvm::is_contained(wanted, sym.str()))) continue;
    std::string name = gradient_name(sym), gradient = fmt::format("the gradient of '{}'", sym.str());
    names[name] = gradient;
    auto input = dyn_cast<chunk::InputOp>(op);
    if (isa<chunk::ParameterOp>(op) || (input && is_summed(input, forward)))
      names[name + "_parts"] = gradient + " before it is summed";
  }
  return names;
}

void expect_names_apart(chunk::ProgramOp forward, const std::vector<std::string>& wanted) {
  const auto added = added_names(forward, wanted);
  for (Operation& op : forward.getBody().front()) {
    auto sym = op.getAttrOfType<StringAttr>("sym");
    auto found = sym ? added.find(sym.str()) : added.end();
    if (found != added.end())
      user_error_at(&op, "'{}' has '{}', which is the name of {}: choose another", forward.getRecurrence().str(),
                    found->first, found->second);
  }
}

// A program that was differentiated before.
void expect_nothing_kept(chunk::ProgramOp forward) {
  for (Operation& op : forward.getBody().front())
    if (op.hasAttr("kept"))
      user_error_at(&op, "'{}' keeps '{}' for a backward program already: differentiate the program without it",
                    forward.getRecurrence().str(), chunk::symbol(&op).str());
}

}  // namespace

// The inputs and parameters to differentiate by, by name; none stands for all.
static std::vector<std::string> wanted_by(chunk::ProgramOp forward) {
  std::vector<std::string> names;
  if (forward.getGradients())
    for (llvm::StringRef name : forward.getGradients()->getAsValueRange<StringAttr>()) names.push_back(name.str());
  return names;
}

chunk::ProgramOp differentiate(chunk::ProgramOp forward) {
  const std::vector<std::string> wanted = wanted_by(forward);
  expect_nothing_kept(forward);
  expect_known(forward, wanted);
  expect_names_apart(forward, wanted);
  OpBuilder builder(forward.getContext());
  builder.setInsertionPointAfter(forward);
  auto backward =
      chunk::ProgramOp::create(builder, forward.getLoc(), forward.getRecurrence(), forward.getChunk(),
                               forward.getKeyDim(), forward.getValueDim(), forward.getCompute(),
                               forward.getSramBudget(), /*summary=*/nullptr, /*plain=*/nullptr, /*gradients=*/nullptr);
  backward.setBackward(true);
  backward.inherit(forward);
  backward.setSchedule(forward.getOfGradients());
  builder.setInsertionPointToEnd(&backward.getBody().emplaceBlock());
  Differentiation(forward, backward, builder, wanted).run();
  forward.removeGradientsAttr();
  forward.setOfGradients(Schedule());
  forward.setGradientsOnly(false);
  return backward;
}

void recompute_program(chunk::ProgramOp forward, chunk::ProgramOp backward) {
  OpBuilder builder(backward);
  auto program = cast<chunk::ProgramOp>(builder.clone(*forward));
  program.setRecompute(true);
  program.setSchedule(backward.getSchedule());
  for (auto output : llvm::make_early_inc_range(program.getBody().getOps<chunk::OutputOp>())) {
    if (output.getKept()) read_kept(output.getX(), output.getSym(), output.getDtype());
    output.erase();
  }
  drop_unused(program);
}

void recompute_inside(chunk::ProgramOp forward, chunk::ProgramOp backward) {
  drop_dead_values(backward);
  auto saved = backward.getBody().getOps<chunk::SavedStateOp>();
  if (saved.empty()) return;
  recompute_program(forward, backward);
  auto recompute = cast<chunk::ProgramOp>(backward->getPrevNode());
  IRMapping copies;
  llvm::StringMap<Value> sources;
  for (Operation& op : backward.getBody().front())
    if (isa<chunk::InputOp, chunk::ParameterOp>(op)) sources[chunk::symbol(&op)] = op.getResult(0);
  OpBuilder b = OpBuilder::atBlockEnd(&backward.getBody().front());
  for (Operation& op : recompute.getBody().front()) {
    if (isa<chunk::StateOp>(op))
      copies.map(op.getResult(0), (*saved.begin()).getResult());
    else if (isa<chunk::InputOp, chunk::ParameterOp>(op) && sources.contains(chunk::symbol(&op)))
      copies.map(op.getResult(0), sources[chunk::symbol(&op)]);
    else if (auto update = dyn_cast<chunk::UpdateOp>(op))
      chunk::UpdateSavedOp::create(b, op.getLoc(), copies.lookup(update.getX()));
    else
      b.clone(op, copies);
  }
  recompute.erase();
}

}  // namespace wkvc
