#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "runtime/base/streams.h"
#include "runtime/base/strict_json.h"
#include "runtime/error.h"
#include "runtime/tensor/safetensors.h"

namespace wkvc {
namespace {

using Item = std::pair<const std::string*, const HostTensor*>;

const char* file_name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f16:
      return "F16";
    case DType::bf16:
      return "BF16";
  }
  internal_error("{} is no DType", static_cast<int>(dtype));
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The widest dtype first, so that every tensor is aligned to its elements.
std::vector<Item> in_file_order(const TensorMap& tensors) {
  std::vector<Item> items;
  for (const auto& [name, tensor] : tensors) items.emplace_back(&name, &tensor);
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return size_of(a.second->dtype()) > size_of(b.second->dtype());
  });
  return items;
}

std::string header_text(const std::vector<Item>& items, const Metadata& metadata, const std::string& file) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : items) {
    if (*name == "__metadata__") user_error("cannot write {}: no tensor can be named __metadata__", file);
    const std::size_t end = offset + tensor->bytes().size();
    header[*name] = {
        {"dtype", file_name_of(tensor->dtype())}, {"shape", tensor->shape()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception& error) {
    user_error("cannot write {}: names and metadata have to be UTF-8 ({})", file, error.what());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const TensorMap& tensors, const Metadata& metadata) {
  const std::vector<Item> items = in_file_order(tensors);
  const std::string header = header_text(items, metadata, path.string());
  const auto length = std::bit_cast<std::array<std::byte, 8>>(std::uint64_t{header.size()});
  std::vector<std::string_view> pieces{text_of(length), header};
  for (const auto& [name, tensor] : items) pieces.push_back(text_of(tensor->bytes()));
  write_output(path, pieces);
}

}  // namespace wkvc
