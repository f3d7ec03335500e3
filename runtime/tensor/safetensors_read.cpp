#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/escape.h"
#include "runtime/base/files.h"
#include "runtime/base/streams.h"
#include "runtime/base/strict_json.h"
#include "runtime/error.h"
#include "runtime/tensor/checked.h"
#include "runtime/tensor/safetensors.h"

namespace wkvc {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors are copied as they lie in the file");

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t max_header = 100'000'000;  // the reference implementation's limit

struct Entry {
  std::string name;
  std::string dtype;  // as the file spells it
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes, from the end of the header
};

struct FileDType {
  std::string_view name;  // as the file spells it
  DType read_as;
  std::int64_t bytes;  // of an element in the file
};

constexpr std::array<FileDType, 4> file_dtypes{
    {{"F64", DType::f32, 8}, {"F32", DType::f32, 4}, {"F16", DType::f16, 2}, {"BF16", DType::bf16, 2}}};

// Null for a dtype that is not read.
const FileDType* dtype_from_file(std::string_view name) {
  const auto* const found = std::ranges::find(file_dtypes, name, &FileDType::name);
  return found == file_dtypes.end() ? nullptr : found;
}

// The open file, or all that came out of a pipe; every read is checked against its size.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : name_(name_of_input(path)) {
    if (is_pipe(path)) {
      piped_ = read_pipe(path, std::numeric_limits<std::size_t>::max());
      size_ = piped_->size();
      return;
    }
    const std::string fault = why_irregular(path);
    if (!fault.empty()) user_error("cannot read {}: it {}. Name a file", name_, fault);
    std::error_code error;
    size_ = std::filesystem::file_size(path, error);
    if (error) user_error("cannot read {}: {}", name_, error.message());
    stream_.open(path, std::ios::binary);
    if (!stream_) user_error("cannot read {}: it does not open. Check its permissions", name_);
  }

  std::uint64_t size() const { return size_; }
  const std::string& name() const { return name_; }

  void read(std::uint64_t offset, std::span<std::byte> into) {
    if (piped_ && offset + into.size() <= size_) {
      std::memcpy(into.data(), piped_->data() + offset, into.size());
      return;
    }
    stream_.seekg(static_cast<std::streamoff>(offset));
    stream_.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    if (!stream_) user_error("cannot read {} bytes at offset {} of {}", into.size(), offset, name_);
  }

 private:
  std::string name_;
  std::ifstream stream_;
  std::optional<std::string> piped_;
  std::uint64_t size_ = 0;
};

std::uint64_t header_size(Reader& file) {
  if (file.size() < length_bytes) {
    user_error("{} is truncated: {} bytes, a safetensors file begins with 8 bytes of header length", file.name(),
               file.size());
  }
  std::array<std::byte, length_bytes> bytes{};
  file.read(0, bytes);
  const auto size = std::bit_cast<std::uint64_t>(bytes);
  if (size > file.size() - length_bytes) {
    user_error("{} is truncated or no safetensors file: its header length is {}, but {} bytes follow", file.name(),
               size, file.size() - length_bytes);
  }
  if (size > max_header) user_error("{} has a header of {} bytes, more than {}", file.name(), size, max_header);
  return size;
}

std::uint64_t unsigned_from(const json& value, const std::string& what) {
  constexpr auto max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > max) {
    user_error("{} is {}, expected an integer from 0 to 2^63-1", what, value.dump());
  }
  return value.get<std::uint64_t>();
}

const json& field(const json& object, const char* key, json::value_t type, const std::string& what) {
  const auto found = object.find(key);
  if (found == object.end() || found->type() != type) {
    user_error("{} needs \"{}\" as a JSON {}", what, key, json(type).type_name());
  }
  return *found;
}

Entry entry_from(const std::string& name, const json& object, const std::string& file) {
  const std::string what = fmt::format("{}: tensor \"{}\"", file, escaped_name(name));
  if (!object.is_object()) user_error("{} is a JSON {}, expected an object", what, object.type_name());
  Entry entry;
  entry.name = name;
  entry.dtype = field(object, "dtype", json::value_t::string, what).get<std::string>();
  for (const json& size : field(object, "shape", json::value_t::array, what)) {
    entry.shape.push_back(static_cast<std::int64_t>(unsigned_from(size, what + ": a size of its shape")));
  }
  const json& offsets = field(object, "data_offsets", json::value_t::array, what);
  if (offsets.size() != 2) user_error("{} has {} data_offsets, expected begin and end", what, offsets.size());
  entry.begin = unsigned_from(offsets[0], what + ": its first offset");
  entry.end = unsigned_from(offsets[1], what + ": its last offset");
  return entry;
}

// Null, as some programs write it, means none.
Metadata metadata_from(const json& object, const std::string& file) {
  if (object.is_null()) return {};
  if (!object.is_object()) user_error("{}: __metadata__ is a JSON {}, expected an object", file, object.type_name());
  Metadata metadata;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string())
      user_error("{}: __metadata__ \"{}\" is {}, expected a string", file, escaped_name(key), value.dump());
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

void check_size(const Entry& entry, const std::string& file) {
  const FileDType* const dtype = dtype_from_file(entry.dtype);
  if (dtype == nullptr) return;
  CheckedInt expected;
  try {
    expected = checked_mul(element_count(entry.shape), dtype->bytes);
  } catch (const UserError& error) {
    user_error("{}: tensor \"{}\": {}", file, escaped_name(entry.name), error.what());
  }
  if (!expected || entry.end - entry.begin != static_cast<std::uint64_t>(*expected)) {
    user_error("{}: tensor \"{}\" has {} bytes, but shape {} in {} takes {}", file, escaped_name(entry.name),
               entry.end - entry.begin, shape_text(entry.shape), entry.dtype,
               expected ? std::to_string(*expected) : "more than 63 bits can count");
  }
}

// The format wants the tensors to cover the data exactly: in order of their offsets, each begins where the last ended.
void check_coverage(std::vector<Entry>& entries, std::uint64_t data_size, const std::string& file) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin > entry.end || entry.end > data_size) {
      user_error("{}: tensor \"{}\" has data_offsets [{}, {}], but the file holds {} bytes of data", file,
                 escaped_name(entry.name), entry.begin, entry.end, data_size);
    }
    if (entry.begin != covered) {
      user_error("{}: tensor \"{}\" begins at byte {} of the data, expected {}: tensors {}", file,
                 escaped_name(entry.name), entry.begin, covered, entry.begin < covered ? "overlap" : "leave a gap");
    }
    covered = entry.end;
    check_size(entry, file);
  }
  if (covered != data_size) {
    user_error("{}: its tensors end at byte {} of the data, but it holds {} bytes of data", file, covered, data_size);
  }
}

// Rounds doubles to the tensor's dtype, and returns which is the first that this changes: "element 3 from 0.1 to
// 0.10000000149"; or nothing.
std::string read_doubles(Reader& file, std::uint64_t offset, HostTensor& into) {
  std::string rounded;
  std::vector<double> values(std::min<std::size_t>(into.size(), 1 << 16));
  for (std::size_t first = 0; first < into.size(); first += values.size()) {
    values.resize(std::min(values.size(), into.size() - first));
    file.read(offset + first * sizeof(double), std::as_writable_bytes(std::span(values)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      into.set(first + i, values[i]);
      const double stored = into.get(first + i);
      if (!rounded.empty() || stored == values[i] || std::isnan(values[i])) continue;
      rounded = fmt::format("element {} from {} to {}", first + i, values[i], stored);
    }
  }
  return rounded;
}

// Null for a dtype that is no integer of 32 or 64 bits.
std::int64_t integer_bytes(std::string_view name) { return name == "I64" ? 8 : name == "I32" ? 4 : 0; }

// The numbers of a tensor of one dimension.
std::vector<std::int64_t> read_integers(Reader& file, std::uint64_t data, const Entry& entry, std::int64_t bytes) {
  const std::uint64_t size = entry.end - entry.begin;
  if (entry.shape.size() != 1 || size != static_cast<std::uint64_t>(entry.shape[0] * bytes)) {
    user_error(
        "{}: tensor \"{}\" has shape {} and {} bytes in {}; integers are for maps of sequences alone, which have one "
        "dimension",
        file.name(), escaped_name(entry.name), shape_text(entry.shape), size, entry.dtype);
  }
  std::vector<std::byte> raw(size);
  file.read(data + entry.begin, raw);
  std::vector<std::int64_t> numbers(raw.size() / static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::int32_t narrow = 0;
    std::memcpy(bytes == 8 ? static_cast<void*>(&numbers[i]) : &narrow,
                raw.data() + i * static_cast<std::size_t>(bytes), static_cast<std::size_t>(bytes));
    if (bytes == 4) numbers[i] = narrow;
  }
  return numbers;
}

}  // namespace

HostTensor& SafetensorsFile::at(const std::string& name) {
  const auto found = tensors.find(name);
  if (const auto rounded = inexact.find(name); rounded != inexact.end()) {
    user_error("{}: tensor \"{}\" is F64, and f32 rounds {}: convert it when the file is written", path.string(),
               escaped_name(name), rounded->second);
  }
  if (found != tensors.end()) return found->second;
  const auto dtype = dtypes.find(name);
  if (dtype != dtypes.end()) {
    user_error("{}: tensor \"{}\" is {}, expected F64, F32, F16 or BF16: convert it when the file is written",
               path.string(), escaped_name(name), escaped_name(dtype->second));
  }
  std::vector<std::string> names;
  for (const auto& [known, spelled] : dtypes) names.push_back(escaped_name(known));
  user_error("{} has no tensor \"{}\"; it has: {}", path.string(), escaped_name(name), fmt::join(names, ", "));
}

SafetensorsFile read_safetensors(const std::filesystem::path& path, const std::optional<Names>& wanted) {
  Reader file(path);
  std::string header(header_size(file), '\0');
  file.read(length_bytes, std::as_writable_bytes(std::span(header)));
  const json object = parse_object(header, fmt::format("the header of {}", file.name()));

  SafetensorsFile result;
  result.path = file.name();
  std::vector<Entry> entries;
  for (const auto& [name, value] : object.items()) {
    if (name == "__metadata__") {
      result.metadata = metadata_from(value, file.name());
    } else {
      entries.push_back(entry_from(name, value, file.name()));
    }
  }
  const std::uint64_t data = length_bytes + header.size();
  check_coverage(entries, file.size() - data, file.name());

  for (Entry& entry : entries) {
    result.dtypes[entry.name] = entry.dtype;
    const FileDType* const dtype = dtype_from_file(entry.dtype);
    if (const std::int64_t bytes = integer_bytes(entry.dtype); bytes > 0 && wanted && wanted->contains(entry.name)) {
      result.integers[entry.name] = read_integers(file, data, entry, bytes);
    }
    if (dtype == nullptr || (wanted && !wanted->contains(entry.name))) continue;
    HostTensor tensor(dtype->read_as, std::move(entry.shape));
    if (static_cast<std::int64_t>(size_of(dtype->read_as)) == dtype->bytes) {
      file.read(data + entry.begin, tensor.bytes());
    } else if (std::string rounded = read_doubles(file, data + entry.begin, tensor); !rounded.empty()) {
      result.inexact[entry.name] = std::move(rounded);
    }
    result.tensors.emplace(entry.name, std::move(tensor));
  }
  return result;
}

}  // namespace wkvc
