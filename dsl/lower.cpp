#include "dsl/lower.h"

#include <set>
#include <unordered_map>

#include "codegen/rec/Drawn.h"
#include "codegen/target/Target.h"

namespace wkvc::detail {
namespace {

rec::Dim dim_of(Dim::Axis axis) {
  switch (axis) {
    case Dim::Axis::K:
      return rec::Dim::K;
    case Dim::Axis::V:
      return rec::Dim::V;
    case Dim::Axis::one:
      return rec::Dim::One;
  }
  internal_error("no such axis");
}

class Lowering {
 public:
  Lowering(const Declarations& declarations, std::optional<Restorage> restorage, mlir::MLIRContext& context)
      : declarations_(declarations), restorage_(restorage), builder_(&context) {
    for (const auto& [name, at] : declarations.names) names_.insert(name);
  }

  mlir::OwningOpRef<mlir::ModuleOp> run(const Definition& definition) {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(location(definition.at));
    builder_.setInsertionPointToEnd(module->getBody());
    auto recurrence = rec::RecurrenceOp::create(
        builder_, location(definition.at), definition.name, static_cast<std::uint64_t>(declarations_.key_dim),
        static_cast<std::uint64_t>(declarations_.value_dim), declarations_.compute->name,
        static_cast<std::uint64_t>(declarations_.sram_budget.value_or(sm_90a.block.shared_bytes)));
    builder_.setInsertionPointToEnd(&recurrence.getBody().emplaceBlock());
    body();
    return module;
  }

 private:
  void body() {
    for (const NodePtr& tensor : declarations_.tensors) declare(*tensor);
    const Node& state = *declarations_.state;
    values_[&state] = rec::StateOp::create(builder_, location(state.at), type_of(state), state.name);
    const mlir::Value next = value_of(*declarations_.next, state.name + "_next");
    rec::UpdateOp::create(builder_, location(declarations_.update_at), values_.at(&state), next);
    for (const Output& output : declarations_.outputs) {
      const mlir::Value value = value_of(*output.value, output.name);
      rec::OutputOp::create(builder_, location(output.at), output.name, value, dim_of(*output.value->axis),
                            rec::mlir_type(stored(output.dtype), builder_.getContext()));
    }
  }

  void declare(const Node& tensor) {
    const auto at = location(tensor.at);
    const auto name = builder_.getStringAttr(tensor.name);
    const auto dim = rec::DimAttr::get(builder_.getContext(), dim_of(*tensor.axis));
    const auto range = tensor.range ? range_attr(tensor) : mlir::DenseF64ArrayAttr();
    const auto type = type_of(*tensor.axis, stored(tensor.dtype));
    if (tensor.kind == Kind::input)
      values_[&tensor] = rec::InputOp::create(builder_, at, type, name, dim, range);
    else
      values_[&tensor] = rec::ParameterOp::create(builder_, at, type, name, dim, range);
    if (tensor.drawn)
      values_[&tensor].getDefiningOp()->setAttr(
          rec::drawn_name, builder_.getStringAttr(rec::distribution_names.at(static_cast<std::size_t>(*tensor.drawn))));
  }

  // The value of a node, which is lowered where it is first used. Without a name of its own it gets `fallback`.
  mlir::Value value_of(const Node& node, const std::string& fallback = "") {
    if (const auto known = values_.find(&node); known != values_.end()) return known->second;
    std::vector<mlir::Value> operands;
    for (const NodePtr& operand : node.operands) operands.push_back(value_of(*operand));
    const mlir::Value value = create(node, operands, name_of(node, fallback));
    values_[&node] = value;
    return value;
  }

  mlir::Value create(const Node& node, llvm::ArrayRef<mlir::Value> x, mlir::StringAttr name) {
    const auto at = location(node.at);
    const auto type = type_of(node);
    switch (node.kind) {
      case Kind::input:
      case Kind::parameter:
      case Kind::state:
        error_at(node.at, "'{}' belongs to another recurrence", node.text);
      case Kind::constant:
        return rec::ConstantOp::create(builder_, at, type, builder_.getF32FloatAttr(node.constant), dim_attr(node),
                                       name);
      case Kind::cast:  // stored otherwise, the operand may have the dtype already
        return x[0].getType() == type ? x[0] : rec::CastOp::create(builder_, at, type, x[0], name).getResult();
      case Kind::assume:
        return rec::AssumeOp::create(builder_, at, type, x[0], range_attr(node), name);
      case Kind::broadcast:
        return rec::BroadcastOp::create(builder_, at, type, x[0], dim_attr(node), name);
      case Kind::neg:
        return rec::NegOp::create(builder_, at, type, x[0], name);
      case Kind::exp:
        return rec::ExpOp::create(builder_, at, type, x[0], name);
      case Kind::log:
        return rec::LogOp::create(builder_, at, type, x[0], name);
      case Kind::sigmoid:
        return rec::SigmoidOp::create(builder_, at, type, x[0], name);
      case Kind::tanh:
        return rec::TanhOp::create(builder_, at, type, x[0], name);
      case Kind::softplus:
        return rec::SoftplusOp::create(builder_, at, type, x[0], name);
      case Kind::relu:
        return rec::ReluOp::create(builder_, at, type, x[0], name);
      case Kind::sqrt:
        return rec::SqrtOp::create(builder_, at, type, x[0], name);
      case Kind::reciprocal:
        return rec::ReciprocalOp::create(builder_, at, type, x[0], name);
      case Kind::add:
        return rec::AddOp::create(builder_, at, type, x[0], x[1], name);
      case Kind::sub:
        return rec::SubOp::create(builder_, at, type, x[0], x[1], name);
      case Kind::mul:
        return rec::MulOp::create(builder_, at, type, x[0], x[1], name);
      case Kind::scale:
        return rec::ScaleOp::create(builder_, at, type, x[0], x[1], name);
      case Kind::diag_mul:
        return rec::DiagMulOp::create(builder_, at, type, x[0], x[1], name);
      case Kind::dot:
        return rec::DotOp::create(builder_, at, type, x[0], x[1], compute_attr(node), name);
      case Kind::outer:
        return rec::OuterOp::create(builder_, at, type, x[0], x[1], compute_attr(node), name);
    }
    internal_error("no such kind of expression");
  }

  // ---- Names, types, attributes -------------------------------------------------------------------------------------

  mlir::StringAttr name_of(const Node& node, const std::string& fallback) {
    if (!node.name.empty()) return builder_.getStringAttr(node.name);
    std::string name = fallback;
    if (node.kind == Kind::cast && name.empty() && !node.operands[0]->name.empty())
      name = fmt::format("{}_{}", node.operands[0]->name, wkvc::name_of(node.dtype));
    const bool is_output = declarations_.names.contains(name) && name == fallback;
    if (name.empty() || rec::name_fault(name) || (!names_.insert(name).second && !is_output)) return {};
    return builder_.getStringAttr(name);
  }

  DType stored(DType declared) const { return restorage_ && declared == restorage_->from ? restorage_->to : declared; }

  mlir::RankedTensorType type_of(Dim::Axis axis, DType dtype) {
    const int extent = axis == Dim::Axis::K   ? declarations_.key_dim
                       : axis == Dim::Axis::V ? declarations_.value_dim
                                              : 1;
    return mlir::RankedTensorType::get({extent}, rec::mlir_type(dtype, builder_.getContext()));
  }

  mlir::RankedTensorType type_of(const Node& node) {
    if (node.axis) return type_of(*node.axis, node.dtype);
    return mlir::RankedTensorType::get({declarations_.value_dim, declarations_.key_dim}, builder_.getF32Type());
  }

  mlir::DenseF64ArrayAttr range_attr(const Node& node) {
    return builder_.getDenseF64ArrayAttr({node.range->first, node.range->second});
  }

  mlir::StringAttr compute_attr(const Node& node) {
    return node.compute ? builder_.getStringAttr(node.compute->name) : mlir::StringAttr();
  }

  rec::DimAttr dim_attr(const Node& node) { return rec::DimAttr::get(builder_.getContext(), dim_of(*node.axis)); }

  mlir::Location location(At at) {
    return mlir::FileLineColLoc::get(builder_.getContext(), at.file_name(), at.line(), at.column());
  }

  const Declarations& declarations_;
  std::optional<Restorage> restorage_;
  mlir::OpBuilder builder_;
  std::unordered_map<const Node*, mlir::Value> values_;
  std::set<std::string> names_;
};

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> lower(const Definition& definition, const Declarations& declarations,
                                        std::optional<Restorage> restorage, mlir::MLIRContext& context) {
  context.loadDialect<rec::RecDialect>();
  return Lowering(declarations, restorage, context).run(definition);
}

}  // namespace wkvc::detail
