#include "codegen/nest/emit/Header.h"

#include <llvm/ADT/StringSet.h>

#include "codegen/emit/Header.h"
#include "codegen/ir/Text.h"
#include "codegen/nest/emit/Types.h"
#include "codegen/rec/Names.h"
#include "codegen/target/Target.h"
#include "runtime/error.h"
#include "runtime/manifest/heads.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

// The tensors that are moved as tiles, in the order of the manifest.
std::vector<std::string> mapped_tensors(KernelOp kernel, const std::vector<TensorSpec>& tensors) {
  llvm::StringSet<> moved;
  kernel.walk([&](LoadOp load) { moved.insert(load.getTensor()); });
  kernel.walk([&](StoreOp store) { moved.insert(store.getTensor()); });
  std::vector<std::string> maps;
  for (const TensorSpec& tensor : tensors)
    if (moved.contains(tensor.name)) maps.push_back(tensor.name);
  return maps;
}

int warps_of(KernelOp kernel) {
  int64_t warps = 0;
  for (RoleOp role : kernel.getBody().getOps<RoleOp>()) warps += all_warps(role);
  return static_cast<int>(warps);
}

std::string channel_line(ChannelOp channel) {
  const std::string over =
      channel.getOver() ? fmt::format(" over {}", name_of(channel.getOver()).str()) : std::string();
  return fmt::format("//   channel {}{}: {} x {} at {}, mbarriers at {}\n", name_of(channel.getChannel()).str(), over,
                     channel.getDepth(), view_type(tile_of(channel.getChannel())), *channel.getOffset(),
                     *channel.getMbarriers());
}

}  // namespace

Manifest manifest_of(KernelOp kernel, int64_t shared_bytes) {
  for (llvm::StringRef name : {kernel.getSymName(), *kernel.getRecurrence()})
    if (auto fault = rec::name_fault(name.str())) user_error("kernel: {}", *fault);
  Manifest manifest =
      emitted_manifest(kernel.getRecurrence()->str(), kernel.getSymName().str(), std::string(sm_90a.arch));
  manifest.key_dim = static_cast<int>(*kernel.getKeyDim());
  manifest.value_dim = static_cast<int>(*kernel.getValueDim());
  manifest.chunk = static_cast<int>(*kernel.getChunk());
  manifest.warps = warps_of(kernel);
  manifest.shared_bytes = shared_bytes;
  for (auto text : kernel.getTensors()->getAsValueRange<StringAttr>()) manifest.tensors.push_back(tensor_from(text));
  manifest.maps = mapped_tensors(kernel, manifest.tensors);
  manifest.config = config_of(manifest, fmt::format("io {} ", io_of(manifest)), "f16");
  return manifest;
}

std::string header_comment(KernelOp kernel, const Manifest& manifest) {
  std::string text = fmt::format(
      "// {}: emitted by wkvc from its nest.\n//   {}, {}\n"
      "//   launch: one block of {} warps for each of the {}, {} bytes of shared memory\n//\n",
      manifest.kernel, manifest.config, manifest.arch, manifest.warps, launched_heads(manifest), manifest.shared_bytes);
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) text += channel_line(channel);
  return text + "//\n" + to_line(manifest);
}

}  // namespace wkvc::nest
