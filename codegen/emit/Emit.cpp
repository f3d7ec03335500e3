#include "codegen/emit/Emit.h"

#include "codegen/emit/Prologue.h"
#include "codegen/emit/operations/Operations.h"
#include "codegen/ir/Where.h"
#include "codegen/warp/Channels.h"

namespace wkvc {

std::string emit_cuda(warp::KernelOp kernel) {
  if (auto channel = warp::open_channel(kernel))
    user_error_at(channel,
                  "no role acquires, puts, gets or releases the slots of this channel: run the pass hand-over");
  if (warp::has_phases(kernel))
    user_error_at(kernel, "where the warps of this kernel meet is still to be said: run the pass barriers");
  KernelText text(kernel);
  begin_kernel(text);
  write_body(text, kernel.getBody());
  if (!kernel.getPlain()) write_meeting(text);  // whose blocks have met before they leave a state
  text.lines.close();
  return text.lines.text();
}

}  // namespace wkvc
