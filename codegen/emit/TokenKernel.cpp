#include "codegen/emit/TokenKernel.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/TypeSwitch.h>

#include <algorithm>

#include "codegen/chunk/SharedInputs.h"
#include "codegen/config/config.h"
#include "codegen/emit/Header.h"
#include "codegen/emit/NamedTensors.h"
#include "codegen/emit/TokenExpressions.h"
#include "codegen/emit/TokenManifest.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc {

namespace {

struct TokenText {
  TokenText(rec::RecurrenceOp op, const Config& config)
      : recurrence(op), manifest(token_manifest(op, config)), expressions(names, manifest.key_dim) {}

  rec::RecurrenceOp recurrence;
  const Manifest manifest;
  Identifiers names;
  const TokenExpressions expressions;
  NamedTensors tensors;
  TextLines lines;
};

// An input, token after token.
struct Fetch {
  rec::InputOp input;
  std::string name, rows;  // variables of a token's value and of the input's rows
};

// The operations that outputs or the next state depend on.
llvm::DenseSet<Operation*> needed(rec::RecurrenceOp recurrence) {
  llvm::DenseSet<Operation*> live;
  for (Operation& op : llvm::reverse(recurrence.getBody().front())) {
    const bool is_read = llvm::any_of(op.getUsers(), [&](Operation* user) { return live.contains(user); });
    if (isa<rec::OutputOp, rec::UpdateOp, rec::StateOp>(op) || is_read) live.insert(&op);
  }
  return live;
}

// Returns the blocks that a multiprocessor is to hold, which bounds registers: 12 a thread for every 16 keys hold the
// state, a token and the inputs of the next one.
int blocks_of(const Manifest& manifest, const Config& config) {
  if (config.blocks > 0) return config.blocks;
  const int registers = std::min(sm_90a.warp.registers, 32 + 12 * manifest.key_dim / 16);
  const std::int64_t fitting = sm_90a.sm.registers / (sm_90a.warp.threads * manifest.warps * registers);
  return static_cast<int>(std::clamp<std::int64_t>(fitting, 1, sm_90a.sm.blocks));
}

void write_header(TokenText& text, const Config& config) {
  const Manifest& manifest = text.manifest;
  text.lines.line("// {}: emitted by wkvc from its recurrence.\n//   {}, {}", manifest.kernel, manifest.config,
                  manifest.arch);
  text.lines.line("//   launch: one block of {} warps for each of the B·H heads\n//", manifest.warps);
  text.lines.line("{}{}WKVC_KERNEL({}, {}, {}, {}) {{", to_line(manifest), preamble(manifest), manifest.kernel,
                  manifest.tensors.size(), manifest.warps, blocks_of(manifest, config));
}

void write_initial_state(TokenText& text) {
  rec::StateOp state = text.recurrence.state();
  const std::string name = text.names.declare(state.getResult(), state.getName());
  text.lines.line("TokenState<{}> {};", text.manifest.key_dim, name);
  text.lines.line("load_state{}({}, initial_state_global, block, row0);",
                  stored_as(text.tensors.of("initial_state").spec), name);
}

void write_parameter(TokenText& text, rec::ParameterOp op) {
  const NamedTensor& tensor = text.tensors.of(op.getName());
  const std::string_view dtype = name_of(tensor.spec.dtype);
  const std::string name = text.names.declare(op, op.getName());
  if (op.getDim() == rec::Dim::One)
    return text.lines.line("const float {} = load_parameter_number<{}>({}, block);", name, dtype, tensor.variable);
  text.lines.line("const auto {} = load_parameter<{}, {}>({}, block, {});", name, dtype,
                  text.expressions.type_over(op.getDim()), tensor.variable, op.getDim() == rec::Dim::V ? "row0" : "0");
}

// Registers of wide heads have no room for another token.
bool fetches_ahead(const Manifest& manifest) { return manifest.key_dim <= 128; }

void write_fetch(TokenText& text, const Fetch& fetch) {
  rec::InputOp input = fetch.input;
  const NamedTensor& tensor = text.tensors.of(input.getName());
  text.lines.line("TokenInput<{}, {}{}> {}({}, block, tokens > 0{});", name_of(tensor.spec.dtype),
                  text.expressions.type_over(input.getDim()), fetches_ahead(text.manifest) ? "" : ", false", fetch.rows,
                  tensor.variable, input.getDim() == rec::Dim::V ? ", row0" : "");
}

void write_rows(TokenText& text, rec::OutputOp op) {
  NamedTensor& tensor = text.tensors.of(op.getName());
  tensor.rows = text.names.unique(op.getName().str() + "_rows");
  text.lines.line("TokenOutput<{}> {}({}, block{});", name_of(tensor.spec.dtype), tensor.rows, tensor.variable,
                  op.getDim() == rec::Dim::V ? ", row0" : "");
}

// Every warp has the values over keys and the numbers; the first one stores them.
void write_output(TokenText& text, rec::OutputOp op) {
  text.lines.line("{}.put({}{});", text.tensors.of(op.getName()).rows, text.expressions.of(op.getValue()),
                  op.getDim() == rec::Dim::V ? "" : ", block.warp == 0");
}

void write_value(TokenText& text, Operation* op) {
  if (!has_variable(op)) return;
  auto attribute = op->getAttrOfType<StringAttr>("name");
  const llvm::StringRef name = attribute ? attribute.getValue() : "t";
  const std::string value = text.expressions.statement(op);
  text.lines.line("const auto {} = {};", text.names.declare(op->getResult(0), name), value);
}

void write_operation(TokenText& text, Operation* op) {
  llvm::TypeSwitch<Operation*>(op)
      .Case([&](rec::OutputOp output) { write_output(text, output); })
      .Case<rec::InputOp, rec::ParameterOp, rec::StateOp, rec::UpdateOp>([](auto) {})
      .Default([&](Operation* value) { write_value(text, value); });
}

void write_next_state(TokenText& text) {
  const std::string state = text.names.of(text.recurrence.state().getResult());
  text.lines.line("{} = {};", state, text.expressions.of(text.recurrence.update().getNext()));
  if (text.manifest.states_every > 0)
    text.lines.line("store_intermediate_state{}({}, intermediate_states_global, args, block, token + 1, row0);",
                    intermediate_stored_as(text.tensors.of("intermediate_states").spec, text.manifest), state);
}

// Writes what comes before the loop over tokens. Returns the inputs that the loop fetches.
std::vector<Fetch> write_beginning(TokenText& text, const llvm::DenseSet<Operation*>& live) {
  Block& body = text.recurrence.getBody().front();
  text.tensors.declare(text.manifest.tensors, text.names, text.lines);
  text.lines.line("const int row0 = 16 * block.warp;  // first of this warp's value rows");
  write_initial_state(text);
  for (auto op : body.getOps<rec::ParameterOp>())
    if (live.contains(op)) write_parameter(text, op);
  text.lines.line("const long long tokens = tokens_of(args, block);");
  std::vector<Fetch> fetches;
  for (auto op : body.getOps<rec::InputOp>()) {
    if (!live.contains(op)) continue;
    const std::string name = text.names.declare(op, op.getName());
    fetches.push_back({op, name, text.names.unique(name + "_rows")});
  }
  for (const Fetch& fetch : fetches) write_fetch(text, fetch);
  for (auto op : body.getOps<rec::OutputOp>()) write_rows(text, op);
  return fetches;
}

void write_loop(TokenText& text, const llvm::DenseSet<Operation*>& live, const std::vector<Fetch>& fetches) {
  text.lines.line("for (long long token = 0; token < tokens; ++token) {{");
  text.lines.open();
  text.lines.line("const bool more = token + 1 < tokens;");
  for (const Fetch& fetch : fetches) text.lines.line("const auto {} = {}.take(more);", fetch.name, fetch.rows);
  for (Operation& op : text.recurrence.getBody().front())
    if (live.contains(&op)) write_operation(text, &op);
  write_next_state(text);
  text.lines.close();
}

}  // namespace

std::string emit_token_kernel(rec::RecurrenceOp recurrence, const Config& config) {
  expect_inputs(recurrence, config.shared);
  TokenText text(recurrence, config);
  for (const char* used : {"args", "block", "row0", "token", "tokens", "more"}) text.names.unique(used);
  write_header(text, config);
  text.lines.open();
  const llvm::DenseSet<Operation*> live = needed(recurrence);
  write_loop(text, live, write_beginning(text, live));
  text.lines.line("store_state{}({}, final_state_global, block, row0);", stored_as(text.tensors.of("final_state").spec),
                  text.names.of(recurrence.state().getResult()));
  text.lines.close();
  return text.lines.text();
}

}  // namespace wkvc
