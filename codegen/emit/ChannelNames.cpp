#include "codegen/emit/ChannelNames.h"

#include "codegen/ir/Text.h"

namespace wkvc {

static ChannelNames names_for(llvm::StringRef channel, Identifiers& names) {
  const auto name = [&](const char* part) { return names.unique((channel + "_" + part).str()); };
  const std::string slots = (channel.take_front().upper() + channel.drop_front() + "Slots").str();
  return {names.unique(slots), name("teams"), name("team"), name("slot")};
}

NamesOfChannels names_of_channels(warp::KernelOp kernel, Identifiers& names) {
  NamesOfChannels all;
  for (auto channel : kernel.getBody().getOps<warp::ChannelOp>()) {
    const llvm::StringRef name = name_of(channel.getChannel());
    all[channel] = all.empty() ? ChannelNames{"Slots", "teams", "team", "slot"}
                               : names_for(name.empty() ? "channel" : name, names);
  }
  return all;
}

}  // namespace wkvc
