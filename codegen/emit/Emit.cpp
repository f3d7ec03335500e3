#include "codegen/emit/Emit.h"

#include "codegen/emit/Prologue.h"
#include "codegen/emit/operations/Operations.h"

namespace wkvc {

std::string emit_cuda(warp::KernelOp kernel) {
  KernelText text(kernel);
  begin_kernel(text);
  write_body(text, kernel.getBody());
  if (!kernel.getPlain()) write_meeting(text);  // whose blocks have met before they leave a state
  text.lines.close();
  return text.lines.text();
}

}  // namespace wkvc
