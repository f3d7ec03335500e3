// Files in the safetensors format: 8 bytes little-endian header length, a JSON header, the tensors' bytes.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/tensor/tensor.h"

namespace wkvc {

using TensorMap = std::map<std::string, HostTensor>;
using Metadata = std::map<std::string, std::string>;

struct SafetensorsFile {
  std::filesystem::path path;
  std::map<std::string, std::string> dtypes;  // of every tensor, as the file spells them: "BF16", "I64"
  TensorMap tensors;                          // those that were read: F32, F16, BF16, and F64 rounded to f32
  std::map<std::string, std::vector<std::int64_t>> integers;  // those of one dimension in I32 or I64
  std::map<std::string, std::string>
      inexact;  // those with values that f32 rounds: "element 3 from 0.1 to 0.10000000149"
  Metadata metadata;

  bool holds(const std::string& name) const { return dtypes.contains(name); }

  // Throws UserError: no such tensor (lists those there are), its dtype is none that wkvc reads, or it is inexact.
  HostTensor& at(const std::string& name);
};

using Names = std::set<std::string>;

// Reads the wanted tensors, or all; the others take no memory, unless `path` is a pipe or "-", the standard input.
// Throws UserError when the file cannot be read or anything in it is inconsistent: a truncated or overlong file,
// offsets that overlap, leave gaps or disagree with shape and dtype, sizes that overflow, a name twice.
SafetensorsFile read_safetensors(const std::filesystem::path& path, const std::optional<Names>& wanted = std::nullopt);

// `path` may be a pipe, or "-", the standard output. Throws UserError when the file cannot be written, a name is
// "__metadata__", or text is not UTF-8; then nothing is written and a file already there stays as it was.
void write_safetensors(const std::filesystem::path& path, const TensorMap& tensors, const Metadata& metadata = {});

}  // namespace wkvc
