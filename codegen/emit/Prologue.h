// The lines that a kernel's text begins with.
#pragma once

#include "codegen/emit/KernelText.h"

namespace wkvc {

// Writes the header comment and the kernel's first lines, with the variables that all operations may read: tensors,
// rows, chunks, teams and places of buffers.
void begin_kernel(KernelText& text);

}  // namespace wkvc
