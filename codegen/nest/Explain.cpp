#include "codegen/nest/Explain.h"

#include <fmt/ranges.h>
#include <llvm/ADT/SetVector.h>

#include "codegen/ir/Text.h"
#include "runtime/base/plural.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

using Names = llvm::SetVector<llvm::StringRef>;

std::string joined(const Names& names) {
  return fmt::format("{}", fmt::join(llvm::map_range(names, [](llvm::StringRef name) { return name.str(); }), ", "));
}

std::string roles_text(llvm::ArrayRef<RoleOp> roles) {
  Names names;
  for (RoleOp role : roles) names.insert(role.getSymName());
  return joined(names);
}

std::string channel_line(ChannelOp channel) {
  const bool is_copied =
      llvm::any_of(channel.getChannel().getUsers(), [](Operation* user) { return isa<LoadOp>(user); });
  const std::string over =
      channel.getOver() ? fmt::format(" in the place of {}", name_of(channel.getOver()).str()) : std::string();
  return fmt::format("  channel {}{}: {} of {} bytes, from {}{} to {}\n", name_of(channel.getChannel()).str(), over,
                     plural(channel.getDepth(), "slot"), slot_bytes(channel), is_copied ? "copies of " : "",
                     roles_text(producers_of(channel)), roles_text(consumers_of(channel)));
}

std::string role_lines(RoleOp role) {
  llvm::MapVector<const char*, Names> deeds;
  role.walk([&](Operation* op) {
    if (auto load = dyn_cast<LoadOp>(op)) deeds["copies"].insert(load.getTensor());
    if (auto tokens = dyn_cast<TokensOp>(op)) deeds["reads"].insert(tokens.getTensor());
    if (auto get = dyn_cast<GetOp>(op)) deeds["gets"].insert(name_of(get.getChannel()));
    if (auto await = dyn_cast<AwaitOp>(op)) deeds["multiplies for"].insert(name_of(await.getTile()));
    if (auto put = dyn_cast<PutOp>(op)) deeds["puts"].insert(name_of(put.getChannel()));
    if (auto store = dyn_cast<StoreOp>(op)) deeds["stores"].insert(store.getTensor());
    if (auto store = dyn_cast<StoreStateOp>(op)) deeds["stores"].insert(store.getTensor());
  });
  const std::string copies = role.getCopies() > 1 ? fmt::format("{} copies of ", role.getCopies()) : std::string();
  std::string text = fmt::format("  role {}: {}{}, {} registers a thread\n", role.getSymName().str(), copies,
                                 plural(role.getWarps(), "warp"), role.getRegisters());
  for (const auto& [verb, names] : deeds) text += fmt::format("    {} {}\n", verb, joined(names));
  return text;
}

}  // namespace

std::string explain(KernelOp kernel) {
  const char* guarded =
      kernel.getExpects() ? "; without scales: blocks whose numbers do not fit leave the head to the next kernel" : "";
  std::string text = fmt::format("{}: roles of warp groups, a chunk of {} tokens at a time{}\n",
                                 kernel.getSymName().str(), kernel.getChunk().value_or(0), guarded);
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) text += channel_line(channel);
  for (RoleOp role : kernel.getBody().getOps<RoleOp>()) text += role_lines(role);
  return text;
}

}  // namespace wkvc::nest
