// Channels of a kernel, as operations name them: where slots lie, and who fills and who reads what lies in them.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc::warp {

// Returns the channel that an operation names: whose slot it hands over, or has its memory in; null if it names none.
ChannelOp channel_named_by(mlir::Operation* op);
// Returns the channel in whose slots a tile, floats or a ring lie; null if they lie in none.
ChannelOp channel_around(mlir::Value shared);

bool is_handed_over(ChannelOp channel);   // whether one role puts what another role gets
bool is_open(ChannelOp channel);          // whether that is so, and the pass hand-over has not said where yet
ChannelOp open_channel(KernelOp kernel);  // the first one that is open; null if none is

// Return the part of a round in which a team fills slots of the channel, and the body of the sweep over a round that
// reads them; null if there is none.
mlir::Block* producer_of(ChannelOp channel);
mlir::Block* consumer_of(ChannelOp channel);

// A block's shared memory begins with what each team has for all rounds. Then come the slots of one channel after the
// other, each channel's with their mbarriers behind them.
int64_t team_bytes(KernelOp kernel);        // of what one team has
int64_t begin_of_slots(ChannelOp channel);  // the first byte
int64_t end_of_slots(ChannelOp channel);    // the byte behind the last mbarrier
int64_t end_of_offsets(ChannelOp channel);  // in a slot, where offsets of the next channel begin

}  // namespace wkvc::warp
