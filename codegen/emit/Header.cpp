#include "codegen/emit/Header.h"

#include <fmt/ranges.h>

#include "codegen/emit/Buffers.h"
#include "codegen/emit/Expressions.h"
#include "codegen/ir/Text.h"
#include "codegen/rec/Names.h"
#include "codegen/warp/Channels.h"
#include "codegen/warp/SharedMemory.h"
#include "runtime/error.h"
#include "runtime/manifest/heads.h"

using namespace mlir;

namespace wkvc {

namespace {

Role role_of(llvm::StringRef text) {
  if (auto role = role_from(text.str())) return *role;
  user_error("kernel: '{}' is no role of a tensor; expected one of {}", text.str(), role_names());
}

// "k_ring 16x64 bf16 x 2 stages": the name and what is in it.
std::string label_of(const Buffer& buffer) {
  if (!buffer.type) return buffer.name;
  std::string shape;
  for (int64_t size : buffer.type.getShape()) shape += (shape.empty() ? "" : "x") + std::to_string(size);
  std::string stages = buffer.stages > 1 ? fmt::format(" x {} stages", buffer.stages) : "";
  return fmt::format("{} {} {}{}", buffer.name, shape, dtype_text(buffer.type.getElementType()), stages);
}

std::string shared_map(warp::KernelOp kernel) {
  std::vector<SharedBuffer> spaces;
  for (const Buffer& buffer : buffers_of(kernel))
    spaces.push_back(
        {label_of(buffer), buffer.bytes, static_cast<int>(buffer.from), static_cast<int>(buffer.to), buffer.offset});
  return map_of(spaces);
}

// What every operation that is a kernel says.
template <class Op>
Manifest common_part(Op kernel) {
  Manifest manifest = emitted_manifest(kernel.getOp().str(), kernel.getSymName().str(), kernel.getArch().str());
  manifest.key_dim = static_cast<int>(kernel.getKeyDim());
  manifest.value_dim = static_cast<int>(kernel.getValueDim());
  manifest.chunk = static_cast<int>(kernel.getChunk());
  manifest.parts = static_cast<int>(kernel.getParts());
  return manifest;
}

// Returns the slots that a team has of a channel, in words.
std::string slots_of_team(warp::ChannelOp channel) {
  if (!warp::is_handed_over(channel)) return fmt::format("a slot of {} bytes", channel.getBytes());
  const bool has_turns = channel.getDepth() > 1;
  return fmt::format("{} of {} bytes{}", has_turns ? "two slots" : "one slot", channel.getBytes(),
                     has_turns ? ", by turns" : "");
}

std::string slots_of_team(warp::KernelOp kernel) {
  std::vector<std::string> all;
  for (auto channel : kernel.getBody().getOps<warp::ChannelOp>()) all.push_back(slots_of_team(channel));
  return fmt::format("{}", fmt::join(all, "\n//   and "));
}

std::string team_comment(warp::KernelOp kernel) {
  if (!warp::has_producers(kernel))
    return fmt::format("//   {} teams of {} warps, each with {}:\n//\n", kernel.getTeams(), warp::team_warps(kernel),
                       slots_of_team(kernel));
  return fmt::format(
      "//   {} teams of {} warps behind {} of the state, ahead of them, each with {} bytes for all rounds\n"
      "//   and {}{}:\n//\n",
      kernel.getTeams(), warp::team_warps(kernel), warp::row_warps(kernel), warp::team_bytes(kernel),
      slots_of_team(kernel), kernel.getCluster() > 1 ? ", for the teams of all blocks" : "");
}

}  // namespace

TensorSpec tensor_from(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts, dims;
  text.split(parts, ' ');
  if (parts.size() != 4) user_error("kernel: a tensor is \"role name dtype dims\", got \"{}\"", text.str());
  auto dtype = dtype_from(parts[2].str());
  if (!dtype) user_error("kernel: tensor '{}' has the unknown dtype '{}'", parts[1].str(), parts[2].str());
  TensorSpec spec{parts[1].str(), role_of(parts[0]), *dtype, {}};
  // The recurrence's own names; a gradient is called after what it is the gradient of.
  bool own = !is_optional(spec.role) && !is_internal(spec.role);
  bool gradient = is_gradient(spec.role) || spec.role == Role::output_gradient;
  if (auto fault =
          own ? rec::name_fault(gradient && !spec.name.empty() ? spec.name.substr(1) : spec.name) : std::nullopt)
    user_error("kernel: {}", *fault);
  parts[3].split(dims, ',');
  for (llvm::StringRef dim : dims) {
    int64_t count = 0;
    bool is_count = !dim.getAsInteger(10, count) && count > 0;
    if (!is_count && !llvm::is_contained({"B", "T", "H", "S", "K", "V", "N", "M", "G"}, dim))
      user_error("kernel: tensor '{}' has the unknown dimension '{}'", spec.name, dim.str());
    spec.dims.push_back(dim.str());
  }
  return spec;
}

Manifest manifest_of(warp::KernelOp kernel) {
  for (auto [name, what] : {std::pair{kernel.getSymName(), "kernel"}, std::pair{kernel.getOp(), "recurrence"}})
    if (auto fault = rec::name_fault(name.str())) user_error("{}: {}", what, *fault);
  Manifest manifest = common_part(kernel);
  manifest.warps = static_cast<int>(kernel.getWarps());
  manifest.shared_bytes = kernel.getSharedBytes();
  manifest.pass = kernel.getBackward() ? Direction::backward : Direction::forward;
  manifest.saved_every = static_cast<int>(kernel.getSavedEvery());
  manifest.segments = static_cast<int>(kernel.getSegments());
  manifest.cluster = static_cast<int>(kernel.getCluster());
  manifest.refused = kernel.getRefused();
  for (auto text : kernel.getTensors().getAsValueRange<StringAttr>()) manifest.tensors.push_back(tensor_from(text));
  kernel.walk([&](warp::StoreIntermediateOp op) { manifest.states_every = static_cast<int>(op.getEvery()); });
  manifest.config = config_of(manifest, "io " + io_of(manifest) + " ", kernel.getCompute());
  return manifest;
}

std::string config_of(const Manifest& manifest, const std::string& io, llvm::StringRef compute) {
  return fmt::format("head {} chunk {} {}mma {} state {}", head_text(manifest), manifest.chunk, io, compute.str(),
                     state_of(manifest));
}

Manifest emitted_manifest(std::string op, std::string kernel, std::string arch) {
  Manifest manifest;
  manifest.op = std::move(op);
  manifest.kernel = std::move(kernel);
  manifest.arch = std::move(arch);
  manifest.waits = true;
  return manifest;
}

Manifest manifest_of(warp::BatchSumOp kernel) {
  Manifest manifest = common_part(kernel);
  manifest.warps = 1;
  manifest.pass = Direction::backward;
  manifest.grid = Grid::head;
  std::string dim = kernel.getDim().str();
  std::vector<std::string> parts{"B", "H", dim}, sums{"H", dim};
  if (dim == "1") {
    parts = {"B", "T", "H"};
    sums = {"H"};
  }
  if (kernel.getSegments() > 1) parts.insert(parts.end() - 1, std::to_string(kernel.getSegments()));
  manifest.tensors = {
      {kernel.getFrom().str(), Role::workspace, DType::f32, parts},
      {kernel.getTo().str(), Role::parameter_gradient, *dtype_from(dtype_text(kernel.getDtype())), sums}};
  manifest.config = config_of(manifest, "", kernel.getCompute());
  return manifest;
}

Manifest manifest_of(warp::HeadSumOp kernel) {
  Manifest manifest = common_part(kernel);
  manifest.warps = 4;
  manifest.segments = 4;  // blocks of a head: each takes every fourth part of the tokens, or less
  manifest.pass = Direction::backward;
  std::vector<std::string> parts{"B", "T", "H"}, sums{"B", "T", kernel.getOwnHeads() ? "H" : "S"};
  if (kernel.getDim() != "1") {
    parts.push_back(kernel.getDim().str());
    sums.push_back(kernel.getDim().str());
  }
  manifest.tensors = {{kernel.getFrom().str(), Role::workspace, DType::f32, parts},
                      {kernel.getTo().str(), Role::input_gradient, *dtype_from(dtype_text(kernel.getDtype())), sums}};
  manifest.config = config_of(manifest, "", kernel.getCompute());
  return manifest;
}

Manifest manifest_of(warp::CombineOp kernel) {
  bool full = kernel.getMap() == "full", backward = kernel.getBackward();
  Manifest manifest = common_part(kernel);
  manifest.segments = static_cast<int>(kernel.getSegments());
  manifest.warps = static_cast<int>(kernel.getStrips()) * manifest.key_dim / 16;
  manifest.pass = backward ? Direction::backward : Direction::forward;
  manifest.shared_bytes = static_cast<int64_t>(kernel.getSharedBytes());
  int64_t rows = manifest.value_dim + (full ? manifest.key_dim : 16);
  Role initial = backward ? Role::final_state_gradient : Role::initial_state;
  const bool keys_first = kernel.getInitialDims() == "B,H,K,V";
  const std::vector<std::string> dims{"B", "H", keys_first ? "K" : "V", keys_first ? "V" : "K"};
  manifest.tensors = {{kernel.getInitial().str(), initial, *dtype_from(kernel.getInitialDtype().str()), dims},
                      {kernel.getWorkspace().str(),
                       Role::workspace,
                       DType::f32,
                       {"B", "H", std::to_string(manifest.segments), std::to_string(rows), "K"}}};
  manifest.config = config_of(manifest, "", kernel.getCompute());
  return manifest;
}

std::string io_of(const Manifest& manifest) {
  std::vector<std::string_view> dtypes;
  for (const TensorSpec& tensor : manifest.tensors) {
    const bool counts = tensor.role == Role::output || tensor.role == Role::output_gradient;
    if (counts && !llvm::is_contained(dtypes, name_of(tensor.dtype))) dtypes.push_back(name_of(tensor.dtype));
  }
  if (!dtypes.empty()) return fmt::format("{}", fmt::join(dtypes, ","));
  const bool has_input = !manifest.tensors.empty() && manifest.tensors.front().role == Role::input;
  return std::string(has_input ? name_of(manifest.tensors.front().dtype) : "f32");
}

std::string state_of(const Manifest& manifest) {
  for (const TensorSpec& tensor : manifest.tensors)
    if (holds_state(tensor.role)) return fmt::format("{}{}", name_of(tensor.dtype), tensor.dims[2] == "K" ? " kv" : "");
  return "f32";
}

std::string storage_of(const TensorSpec& states) {
  const size_t rank = states.dims.size();
  if (rank >= 4 && states.dims[rank - 2] == "K") return fmt::format("{}, StateLayout::kv", name_of(states.dtype));
  return states.dtype == DType::f32 ? "" : std::string(name_of(states.dtype));
}

std::string stored_as(const TensorSpec& state) {
  const std::string arguments = storage_of(state);
  return arguments.empty() ? "" : fmt::format("<{}>", arguments);
}

std::string intermediate_stored_as(const TensorSpec& states, const Manifest& manifest) {
  const std::string arguments = storage_of(states);
  return fmt::format("<{}, {}{}{}>", manifest.states_every, manifest.value_dim, arguments.empty() ? "" : ", ",
                     arguments);
}

const char* map_text(llvm::StringRef kind) { return kind == "full" ? "Map::full" : "Map::diagonal"; }

std::string preamble(const Manifest& manifest) {
  std::string text;
  for (const Macro& macro : macros_of(manifest))
    if (macro.number != 1) text += macro.line() + "\n";
  return text + "#include \"wkvc/tile.h\"\n\nusing namespace wkvc;\n\n";
}

std::string header_comment(warp::KernelOp kernel) {
  Manifest manifest = manifest_of(kernel);
  std::string text = fmt::format(
      "// {}: emitted by wkvc from its recurrence.\n//   {}, {}\n"
      "//   launch: {} of {} warps for each of the {}{}, {} bytes of shared memory, at least {} blocks a "
      "multiprocessor\n//\n",
      manifest.kernel, manifest.config, manifest.arch,
      manifest.cluster > 1 ? fmt::format("a cluster of {} blocks", manifest.cluster) : "one block", manifest.warps,
      launched_heads(manifest), manifest.segments > 1 ? fmt::format(" and {} segments", manifest.segments) : "",
      manifest.shared_bytes, kernel.getBlocks());
  if (warp::has_slots(kernel)) text += team_comment(kernel);
  std::string map = shared_map(kernel);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(map).split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) text += "//   " + line.str() + "\n";
  return text + "//\n" + to_line(manifest);
}

}  // namespace wkvc
