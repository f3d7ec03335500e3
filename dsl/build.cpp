#include "dsl/build.h"

#include "dsl/lower.h"

namespace wkvc {

using namespace detail;

namespace {

template <class... Args>
[[noreturn]] void config_error(const Definition& definition, fmt::format_string<Args...> text, Args&&... args) {
  user_error("{}: {}", definition.name, fmt::format(text, std::forward<Args>(args)...));
}

void check(const Config& config, const Definition& definition) {
  if (!config.mma.empty() && !rec::is_compute(config.mma))
    config_error(definition, "mma is '{}'; expected {}", config.mma, rec::computes_text);
  if (config.sram != 0 && !rec::is_sram_budget(config.sram))
    config_error(definition, "sram is {} bytes; expected {}", config.sram, rec::sram_budgets_text);
  if (config.key_dim != 0 && !rec::is_extent(config.key_dim))
    config_error(definition, "a head of {} keys is not supported; expected {}", config.key_dim, rec::extents_text);
  if (config.value_dim != 0 && !rec::is_value_extent(config.value_dim))
    config_error(definition, "a head of {} values is not supported; expected {}", config.value_dim,
                 rec::value_extents_text);
}

std::optional<DType> io_of(const Config& config, const Definition& definition) {
  if (config.io.empty()) return std::nullopt;
  if (const auto io = dtype_from(config.io)) return io;
  config_error(definition, "io is '{}'; expected bf16, f16 or f32", config.io);
}

void check_complete(const Declarations& declarations, const Definition& definition) {
  const auto require = [&](bool given, std::string_view what) {
    if (!given) error_at(definition.at, "recurrence '{}' lacks {}", definition.name, what);
  };
  for (const OptionInfo& option : declarations.options.declared())
    if (const auto taken = declarations.names.find(option.name); taken != declarations.names.end())
      error_at(option.at, "the option '{}' has the name of a value (line {}): choose another", option.name,
               taken->second.line());
  require(declarations.key_dim != 0, "its key dimension: write op.key_dim(64)");
  require(declarations.value_dim != 0, "its value dimension: write op.value_dim(64)");
  require(!declarations.tensors.empty(), "inputs: write op.input(\"k\", K, bf16)");
  require(declarations.compute.has_value(), "the dtype its contractions compute in: write op.compute(f16)");
  require(declarations.state != nullptr, "a state: write op.state(\"S\", V, K, f32)");
  require(declarations.next != nullptr, "an update: write op.update(S, next)");
  require(!declarations.outputs.empty(), "outputs: write op.output(\"o\", x, bf16)");
}

// What the first input is stored as, and what it is to be stored as instead.
std::optional<Restorage> restorage_of(const Declarations& declarations, std::optional<DType> io) {
  for (const NodePtr& tensor : declarations.tensors)
    if (io && tensor->kind == Kind::input) return Restorage{tensor->dtype, *io};
  return std::nullopt;
}

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> build(const Definition& definition, mlir::MLIRContext& context,
                                        const Config& config) {
  check(config, definition);
  const auto io = io_of(config, definition);
  if (const auto fault = rec::name_fault(definition.name)) error_at(definition.at, "{}", *fault);
  if (!definition.body) error_at(definition.at, "recurrence '{}' has no body", definition.name);

  Declarations declarations = declarations_of(definition, config);
  check_complete(declarations, definition);
  if (!config.mma.empty()) declarations.compute = Compute(config.mma);
  if (config.sram != 0) declarations.sram_budget = config.sram;

  auto module = lower(definition, declarations, restorage_of(declarations, io), context);
  rec::verify(*module);
  return module;
}

Source rec_source(const Definition& definition, const Config& config) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = build(definition, context, config);
  mlir::AsmState::LocationMap positions;
  Source source{Stage::rec, rec::print(*module, &positions), {}};
  for (const auto& [op, position] : positions) {
    const auto at = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
    if (!at) continue;
    if (source.lines.size() <= position.first) source.lines.resize(position.first + 1);
    source.lines[position.first] = {at.getFilename().str(), static_cast<int>(at.getLine()),
                                    static_cast<int>(at.getColumn())};
  }
  return source;
}

std::string rec_text(const Definition& definition, const Config& config) { return rec_source(definition, config).text; }

}  // namespace wkvc
