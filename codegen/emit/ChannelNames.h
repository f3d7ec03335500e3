// The names that the text of a kernel gives the parts of each channel.
#pragma once

#include <llvm/ADT/MapVector.h>

#include "codegen/emit/Identifiers.h"
#include "codegen/warp/Channels.h"

namespace wkvc {

struct ChannelNames {
  std::string slots;  // the type that says where the slots lie
  std::string teams;  // the warps that prepare rounds ahead
  std::string team;   // the team of the chunk at hand, with the chunk's slot as its memory
  std::string slot;   // the slot of the chunk that the state goes through
};

// Names by channel, in the kernel's order.
using NamesOfChannels = llvm::MapVector<warp::ChannelOp, ChannelNames>;

// Returns names for all channels of a kernel. The names of the first channel are those that all of the text uses for
// rounds and teams; other channels have names of their own, from what the kernel calls the channel.
NamesOfChannels names_of_channels(warp::KernelOp kernel, Identifiers& names);

}  // namespace wkvc
