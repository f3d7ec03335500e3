// Declarations: tensors, state, update, outputs and settings of a recurrence.
#include "codegen/rec/Limits.h"
#include "codegen/rec/Names.h"
#include "dsl/node.h"

namespace wkvc {

using namespace detail;

namespace {

Dim declare_dim(Dim::Axis axis, std::string_view what, int& slot, int declared, int override_, At at) {
  if (slot != 0) error_at(at, "'{}' is declared twice", what);
  slot = override_ != 0 ? override_ : declared;
  const bool of_values = axis == Dim::Axis::V;
  if (of_values ? !rec::is_value_extent(slot) : !rec::is_extent(slot))
    error_at(at, "{} is {}; expected {}", what, slot, of_values ? rec::value_extents_text : rec::extents_text);
  return {axis, slot};
}

void declare_name(Declarations& declarations, std::string_view name, At at) {
  if (const auto fault = rec::name_fault(name)) error_at(at, "{}", *fault);
  const auto [first, is_new] = declarations.names.emplace(name, at);
  if (!is_new) error_at(at, "name '{}' is taken (line {}): names are unique", name, first->second.line());
}

NodePtr declare_tensor(Declarations& declarations, Kind kind, std::string_view name, Dim dim, DType dtype, At at) {
  declare_name(declarations, name, at);
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->axis = dim.axis;
  node->dtype = dtype;
  node->text = node->name = name;
  node->at = at;
  return declarations.tensors.emplace_back(std::move(node));
}

// The values that are set, and those of the definition for the others. `config` has been checked.
OptionValues option_values(const Config& config, const Definition& definition) {
  OptionValues values;
  for (const std::string& setting : config.set) {
    const std::size_t equals = setting.find('=');
    values.emplace(setting.substr(0, equals), setting.substr(equals + 1));
  }
  values.insert(definition.presets.begin(), definition.presets.end());
  return values;
}

}  // namespace

Dim Recurrence::key_dim(int extent, At at) {
  return declare_dim(Dim::Axis::K, "key_dim", declarations_.key_dim, extent, declarations_.key_override, at);
}

Dim Recurrence::value_dim(int extent, At at) {
  return declare_dim(Dim::Axis::V, "value_dim", declarations_.value_dim, extent, declarations_.value_override, at);
}

Expr Recurrence::input(std::string_view name, Dim dim, DType dtype, At at) {
  return Expr(declare_tensor(declarations_, Kind::input, name, dim, dtype, at));
}

Expr Recurrence::parameter(std::string_view name, Dim dim, DType dtype, At at) {
  return Expr(declare_tensor(declarations_, Kind::parameter, name, dim, dtype, at));
}

Expr Recurrence::state(std::string_view name, Dim rows, Dim columns, DType dtype, At at) {
  if (declarations_.state) error_at(at, "'{}' is the second state; expected exactly one", name);
  if (rows.axis != Dim::Axis::V || columns.axis != Dim::Axis::K)
    error_at(at, "state '{}': expected V rows and K columns", name);
  if (dtype != f32) error_at(at, "state '{}' is {}; expected f32", name, name_of(dtype));
  declare_name(declarations_, name, at);
  declarations_.state = std::make_shared<Node>();
  declarations_.state->kind = Kind::state;
  declarations_.state->text = declarations_.state->name = name;
  declarations_.state->at = at;
  return Expr(declarations_.state);
}

void Recurrence::update(const Expr& state, const Expr& next, At at) {
  if (state.node() != declarations_.state) error_at(at, "'update': '{}' is not the state", state.node()->text);
  if (declarations_.next) error_at(at, "'update' is called twice; expected exactly one update");
  if (next.node()->axis) error_at(at, "'update': '{}' is not a V×K matrix", next.node()->text);
  declarations_.next = next.node();
  declarations_.update_at = at;
}

Expr Recurrence::let(std::string_view name, const Expr& value, At at) {
  if (!value.node()->name.empty())
    error_at(at, "'let': '{}' has its name already; expected an expression without one", value.node()->text);
  declare_name(declarations_, name, at);
  auto named = std::make_shared<Node>(*value.node());
  named->text = named->name = name;
  return Expr(named);
}

void Recurrence::output(std::string_view name, const Expr& value, DType dtype, At at) {
  const Node& node = *value.node();
  declare_name(declarations_, name, at);
  if (!node.axis) error_at(at, "output '{}': '{}' is a V×K matrix; expected a vector or a scalar", name, node.text);
  if (node.dtype != f32 && node.dtype != dtype)
    error_at(at, "output '{}' is {} but '{}' is {}; dtypes are never promoted: write cast<f32>({})", name,
             name_of(dtype), node.text, name_of(node.dtype), node.text);
  declarations_.outputs.push_back({std::string(name), value.node(), dtype, at});
}

void Recurrence::compute(Compute dtype, At at) {
  if (declarations_.compute) error_at(at, "'compute' is called twice");
  check_compute(dtype, at);
  declarations_.compute = dtype;
}

void Recurrence::sram_budget(std::int64_t bytes, At at) {
  if (declarations_.sram_budget) error_at(at, "'sram_budget' is called twice");
  if (!rec::is_sram_budget(bytes)) error_at(at, "sram_budget is {} bytes; expected {}", bytes, rec::sram_budgets_text);
  declarations_.sram_budget = bytes;
}

Definition recurrence(std::string name, std::function<void(Recurrence&)> body, At at) {
  return {std::move(name), std::move(body), at};
}

Definition preset(Definition of, std::string name, OptionValues options) {
  of.name = std::move(name);
  of.presets = std::move(options);
  return of;
}

Declarations detail::declarations_of(const Definition& definition, const Config& config) {
  Declarations declarations;
  declarations.key_override = config.key_dim;
  declarations.value_override = config.value_dim;
  declarations.options = Options(definition.name, option_values(config, definition));
  Recurrence op(declarations);
  definition.body(op);
  declarations.options.expect_all_declared();
  return declarations;
}

}  // namespace wkvc
