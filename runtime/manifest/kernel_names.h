// The names of kernels: those that manifests have, and those in the text beside the manifests.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/manifest/manifest.h"

namespace wkvc {

[[noreturn]] void refuse_kernel_name(const std::string& kernel);

// Throws UserError where a manifest names a kernel that the text, but for its comments, does not mention. A text that
// pastes names together (##) may make any.
void expect_kernels(std::span<const Manifest> manifests, std::string_view source);

}  // namespace wkvc
