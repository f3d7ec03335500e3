// Contractions by groups: four warps of value rows read an operand that teams have made together, once (wgmma).
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Marks the contractions of a kernel that pay by groups, and puts a fence behind what teams store for them. For wide
// heads: each warp by itself would read all of the operand. What is made of a state, few columns by many steps, only
// where all warps meet anyway: by itself such a product takes longer. For narrow heads it pays there, too, if one wait
// is for several contractions. Throws UserError where the kernel has fewer registers than such an instruction takes:
// ptxas does not compile it.
void contract_by_groups(warp::KernelOp kernel);

}  // namespace wkvc
