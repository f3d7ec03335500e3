// Files in the safetensors format: 8 bytes little-endian header length, a JSON header, the tensors' bytes.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "runtime/tensor.h"

namespace wkvc {

using TensorMap = std::map<std::string, HostTensor>;
using Metadata = std::map<std::string, std::string>;

struct SafetensorsFile {
  std::filesystem::path path;
  TensorMap tensors;                               // F32, F16 and BF16
  std::map<std::string, std::string> unsupported;  // the other tensors: name → dtype in the file ("I64")
  Metadata metadata;

  // Throws UserError: no such tensor (lists those there are), or its dtype is none of wkvc's.
  HostTensor& at(const std::string& name);
};

// Throws UserError when the file cannot be read or anything in it is inconsistent: a truncated or overlong file,
// offsets that overlap, leave gaps or disagree with shape and dtype, sizes that overflow, a name twice.
SafetensorsFile read_safetensors(const std::filesystem::path& path);

// Throws UserError when the file cannot be written, a name is "__metadata__", or text is not UTF-8; then nothing is
// written and a file already there stays as it was.
void write_safetensors(const std::filesystem::path& path, const TensorMap& tensors, const Metadata& metadata = {});

}  // namespace wkvc
