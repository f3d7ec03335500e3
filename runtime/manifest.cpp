#include "runtime/manifest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "runtime/error.h"
#include "runtime/strict_json.h"

namespace wkvc {
namespace {

using nlohmann::json;

constexpr std::string_view marker = "// wkvc-manifest: ";

constexpr std::array<std::pair<Role, const char*>, 5> roles{{{Role::input, "input"},
                                                             {Role::parameter, "parameter"},
                                                             {Role::output, "output"},
                                                             {Role::initial_state, "initial_state"},
                                                             {Role::final_state, "final_state"}}};

const char* role_name(Role role) {
  for (const auto& [known, name] : roles) {
    if (known == role) return name;
  }
  internal_error("{} is no Role", static_cast<int>(role));
}

// ASCII only, whatever the locale: these names become symbols and file names.
bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || digit(c); });
}

bool is_arch(std::string_view text) {
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  if (text.ends_with('a') || text.ends_with('f')) text.remove_suffix(1);
  return (text.size() == 2 || text.size() == 3) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_dim(std::string_view text) {
  constexpr std::array<std::string_view, 5> symbols{"B", "T", "H", "K", "V"};
  if (std::find(symbols.begin(), symbols.end(), text) != symbols.end()) return true;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value > 0;
}

// [B,T,H], [B,T,H,D], [B,H,V,K] or [H,D]: what TensorArg's three strides can describe.
bool is_layout(const std::vector<std::string>& dims) {
  const auto begins = [&](std::vector<std::string> front) {
    return dims.size() >= front.size() && std::equal(front.begin(), front.end(), dims.begin());
  };
  const auto inner = [&](std::size_t from) {
    return std::none_of(dims.begin() + static_cast<std::ptrdiff_t>(from), dims.end(),
                        [](const std::string& d) { return d == "B" || d == "T" || d == "H"; });
  };
  if (begins({"B", "T", "H"})) return dims.size() <= 4 && inner(3);
  if (begins({"B", "H"})) return dims.size() == 4 && inner(2);
  return begins({"H"}) && dims.size() == 2 && inner(1);
}

// Reads the fields of one JSON object and names the object in every error.
class Fields {
 public:
  Fields(const json& object, std::string what, std::vector<std::string_view> keys)
      : object_(object), what_(std::move(what)) {
    if (!object.is_object()) user_error("{} is a JSON {}, expected an object", what_, object.type_name());
    for (const auto& [key, value] : object.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        user_error("{} has the unknown key \"{}\": the keys are {}", what_, key, fmt::join(keys, ", "));
      }
    }
  }

  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) wrong(key, value, "a string");
    return value.get<std::string>();
  }

  std::string identifier(const char* key) const {
    std::string value = text(key);
    if (!is_identifier(value)) {
      user_error("{}: \"{}\" is \"{}\", expected a C identifier (letters, digits and _, no digit first)", what_, key,
                 value);
    }
    return value;
  }

  std::int64_t integer(const char* key, std::int64_t low, std::int64_t high) const {
    const json& value = at(key);
    const std::string expected = fmt::format("an integer from {} to {}", low, high);
    if (!value.is_number_integer()) wrong(key, value, expected);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(high)) {
      wrong(key, value, expected);
    }
    const auto result = value.get<std::int64_t>();
    if (result < low || result > high) wrong(key, value, expected);
    return result;
  }

  const json& list(const char* key) const {
    const json& value = at(key);
    if (!value.is_array() || value.empty()) wrong(key, value, "a list that is not empty");
    return value;
  }

  [[noreturn]] void wrong(const char* key, const json& value, std::string_view expected) const {
    user_error("{}: \"{}\" is {}, expected {}", what_, key, value.dump(), expected);
  }

 private:
  const json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) user_error("{} lacks the key \"{}\"", what_, key);
    return *found;
  }

  const json& object_;
  std::string what_;
};

std::vector<std::string> dims_from(const Fields& fields) {
  const json& list = fields.list("dims");
  std::vector<std::string> dims;
  for (const json& dim : list) {
    if (!dim.is_string() || !is_dim(dim.get<std::string>())) {
      fields.wrong("dims", list, "B, T, H, K, V or positive numbers, as strings");
    }
    dims.push_back(dim.get<std::string>());
  }
  if (!is_layout(dims)) fields.wrong("dims", list, "the order B,T,H[,D], B,H,D,D or H,D");
  return dims;
}

TensorSpec tensor_from(const json& object, std::size_t index) {
  const Fields fields(object, fmt::format("the kernel manifest's tensor {}", index), {"name", "role", "dtype", "dims"});
  TensorSpec spec;
  spec.name = fields.identifier("name");
  const std::string role = fields.text("role");
  const auto known = std::find_if(roles.begin(), roles.end(), [&](const auto& r) { return role == r.second; });
  if (known == roles.end()) {
    fields.wrong("role", json(role), "input, parameter, output, initial_state or final_state");
  }
  spec.role = known->first;
  const std::string dtype = fields.text("dtype");
  if (!dtype_from(dtype)) fields.wrong("dtype", json(dtype), "f32, f16 or bf16");
  spec.dtype = *dtype_from(dtype);
  spec.dims = dims_from(fields);
  return spec;
}

std::vector<TensorSpec> tensors_from(const json& list) {
  std::vector<TensorSpec> tensors;
  std::set<std::string> names;
  for (const json& object : list) {
    tensors.push_back(tensor_from(object, tensors.size()));
    const std::string& name = tensors.back().name;
    if (!names.insert(name).second) user_error("the kernel manifest names the tensor \"{}\" twice", name);
  }
  return tensors;
}

// The JSON of the one manifest line.
std::string_view find_line(std::string_view source) {
  std::string_view found;
  while (!source.empty()) {
    const std::size_t end = source.find('\n');
    std::string_view line = source.substr(0, end);
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
    if (!line.starts_with(marker)) continue;
    if (found.data() != nullptr) user_error("the kernel has two lines that begin with \"{}\": keep one", marker);
    found = line.substr(marker.size());
  }
  if (found.data() == nullptr) {
    user_error(
        "the kernel has no line that begins with \"{}\": its header comment says what it is launched with. "
        "Pass the text as wkvc emitted it",
        marker);
  }
  return found;
}

}  // namespace

std::string to_line(const Manifest& manifest) {
  using nlohmann::ordered_json;
  ordered_json tensors = ordered_json::array();
  for (const TensorSpec& spec : manifest.tensors) {
    tensors.push_back(ordered_json{{"name", spec.name},
                                   {"role", role_name(spec.role)},
                                   {"dtype", std::string(name_of(spec.dtype))},
                                   {"dims", spec.dims}});
  }
  const ordered_json object{
      {"op", manifest.op},       {"kernel", manifest.kernel},   {"config", manifest.config},
      {"arch", manifest.arch},   {"key_dim", manifest.key_dim}, {"value_dim", manifest.value_dim},
      {"chunk", manifest.chunk}, {"warps", manifest.warps},     {"shared_bytes", manifest.shared_bytes},
      {"tensors", tensors}};
  return fmt::format("{}{}\n", marker, object.dump(-1, ' ', false, json::error_handler_t::replace));
}

Manifest manifest_from(std::string_view kernel_source) {
  constexpr std::int64_t max_int = std::numeric_limits<int>::max();
  const json object = parse_object(find_line(kernel_source), "the kernel manifest");
  const Fields fields(
      object, "the kernel manifest",
      {"op", "kernel", "config", "arch", "key_dim", "value_dim", "chunk", "warps", "shared_bytes", "tensors"});
  Manifest manifest;
  manifest.op = fields.identifier("op");
  manifest.kernel = fields.identifier("kernel");
  manifest.config = fields.text("config");
  manifest.arch = fields.text("arch");
  if (!is_arch(manifest.arch)) fields.wrong("arch", json(manifest.arch), "an architecture such as sm_90a");
  manifest.key_dim = static_cast<int>(fields.integer("key_dim", 1, max_int));
  manifest.value_dim = static_cast<int>(fields.integer("value_dim", 1, max_int));
  manifest.chunk = static_cast<int>(fields.integer("chunk", 1, max_int));
  manifest.warps = static_cast<int>(fields.integer("warps", 1, 32));
  manifest.shared_bytes = fields.integer("shared_bytes", 0, max_int);
  manifest.tensors = tensors_from(fields.list("tensors"));
  return manifest;
}

}  // namespace wkvc
