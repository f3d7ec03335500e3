// Tensors of a file as the case that kernels run on.
#pragma once

#include <filesystem>

#include "checking/values/cases.h"

namespace wkvc {

// Reads what the file holds of a manifest's tensors, results among them. Throws UserError.
SafetensorsFile read_tensors(const Manifest& manifest, const std::filesystem::path& path);

// The tensors of a file that read_tensors has read; further ones in it are ignored. A file may lack initial states and
// gradients of final states. It may have "cu_seqlens", where sequences begin that lie one behind the other, and
// "state_indices", which of the initial states each sequence has; these are slots then, of which final states are the
// same. Values may be stored in another dtype if the kernel's holds every one of them exactly. Throws UserError naming
// file and tensor.
Case case_from_file(const Manifest& manifest, SafetensorsFile& file);

}  // namespace wkvc
