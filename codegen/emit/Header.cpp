#include "codegen/emit/Header.h"

#include "codegen/emit/Expressions.h"
#include "codegen/ir/Text.h"
#include "codegen/lower/SharedMemory.h"
#include "codegen/rec/Names.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

Role role_of(llvm::StringRef text) {
  if (auto role = role_from(text.str())) return *role;
  user_error("kernel: '{}' is no role of a tensor; expected one of {}", text.str(), role_names());
}

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
    if (dim != "1" && dim != "B" && dim != "T" && dim != "H" && dim != "K" && dim != "V" && dim != "N" && dim != "G")
      user_error("kernel: tensor '{}' has the unknown dimension '{}'", spec.name, dim.str());
    spec.dims.push_back(dim.str());
  }
  return spec;
}

// The buffers as they stand in the warp text.
std::string shared_map(warp::KernelOp kernel) {
  std::vector<SharedBuffer> buffers;
  auto add = [&](Operation& op, int64_t copies, int from, int to) {
    auto type = cast<MemRefType>(op.getResult(0).getType());
    std::string name = fmt::format("{} {}", name_of(op.getResult(0)).str(), [&] {
      std::string text;
      for (int64_t size : type.getShape()) text += (text.empty() ? "" : "x") + std::to_string(size);
      llvm::raw_string_ostream(text) << " " << type.getElementType();
      return text + (copies > 1 ? fmt::format(" x {} stages", copies) : "");
    }());
    buffers.push_back(
        {name, copies * warp::shared_bytes(type), from, to, op.getAttrOfType<IntegerAttr>("offset").getInt()});
  };
  int last = 0;
  for (auto buffer : kernel.getBody().getOps<warp::BufferOp>()) last = std::max<int>(last, buffer.getTo());
  for (Operation& op : kernel.getBody().front()) {
    if (auto buffer = dyn_cast<warp::BufferOp>(&op)) add(op, 1, buffer.getFrom(), buffer.getTo());
    if (auto floats = dyn_cast<warp::FloatsOp>(&op)) add(op, 1, floats.getFrom(), floats.getTo());
  }
  kernel.walk([&](warp::RingOp ring) {
    add(*ring, ring.getStages(), ring.getFrom().value_or(0), ring.getTo().value_or(last));
  });
  return map_of(buffers);
}

}  // namespace

Manifest manifest_of(warp::KernelOp kernel) {
  Manifest manifest;
  for (auto [name, what] : {std::pair{kernel.getSymName(), "kernel"}, std::pair{kernel.getOp(), "recurrence"}})
    if (auto fault = rec::name_fault(name.str())) user_error("{}: {}", what, *fault);
  manifest.op = kernel.getOp().str();
  manifest.kernel = kernel.getSymName().str();
  manifest.arch = kernel.getArch().str();
  manifest.key_dim = static_cast<int>(kernel.getKeyDim());
  manifest.value_dim = static_cast<int>(kernel.getValueDim());
  manifest.chunk = static_cast<int>(kernel.getChunk());
  manifest.warps = static_cast<int>(kernel.getWarps());
  manifest.shared_bytes = kernel.getSharedBytes();
  manifest.pass = kernel.getBackward() ? Direction::backward : Direction::forward;
  manifest.saved_every = static_cast<int>(kernel.getSavedEvery());
  for (auto text : kernel.getTensors().getAsValueRange<StringAttr>()) manifest.tensors.push_back(tensor_from(text));
  std::string io = "f32";
  for (const TensorSpec& tensor : manifest.tensors)
    if (tensor.role == Role::output || tensor.role == Role::output_gradient) io = name_of(tensor.dtype);
  manifest.config = fmt::format("head {}x{} chunk {} io {} mma {} state f32", manifest.key_dim, manifest.value_dim,
                                manifest.chunk, io, kernel.getCompute().str());
  return manifest;
}

Manifest manifest_of(warp::BatchSumOp kernel) {
  Manifest manifest;
  manifest.op = kernel.getOp().str();
  manifest.kernel = kernel.getSymName().str();
  manifest.arch = kernel.getArch().str();
  manifest.key_dim = static_cast<int>(kernel.getKeyDim());
  manifest.value_dim = static_cast<int>(kernel.getValueDim());
  manifest.chunk = static_cast<int>(kernel.getChunk());
  manifest.warps = 1;
  manifest.pass = Direction::backward;
  manifest.grid = Grid::head;
  std::string dim = kernel.getDim().str();
  manifest.tensors = {
      {kernel.getFrom().str(), Role::workspace, DType::f32, {"B", "H", dim}},
      {kernel.getTo().str(), Role::parameter_gradient, *dtype_from(dtype_text(kernel.getDtype())), {"H", dim}}};
  manifest.config = fmt::format("head {}x{} chunk {} mma {} state f32", manifest.key_dim, manifest.value_dim,
                                manifest.chunk, kernel.getCompute().str());
  return manifest;
}

std::string header_comment(warp::KernelOp kernel) {
  Manifest manifest = manifest_of(kernel);
  std::string text = fmt::format(
      "// {}: emitted by wkvc from its recurrence.\n//   {}, {}\n"
      "//   launch: one block of {} warps for each of the B·H heads, {} bytes of shared memory, at least {} blocks a "
      "multiprocessor\n//\n",
      manifest.kernel, manifest.config, manifest.arch, manifest.warps, manifest.shared_bytes, kernel.getBlocks());
  std::string map = shared_map(kernel);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(map).split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) text += "//   " + line.str() + "\n";
  return text + "//\n" + to_line(manifest);
}

}  // namespace wkvc
