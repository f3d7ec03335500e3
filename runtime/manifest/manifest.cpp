#include "runtime/manifest/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "runtime/base/escape.h"
#include "runtime/base/json_fields.h"
#include "runtime/base/names.h"
#include "runtime/base/strict_json.h"
#include "runtime/error.h"
#include "runtime/manifest/layout.h"
#include "runtime/manifest/manifest_check.h"
#include "runtime/tensor/extents.h"

namespace wkvc {
namespace {

using nlohmann::json;

constexpr std::string_view marker = "// wkvc-manifest: ";

constexpr std::array<std::string_view, 2> directions{"forward", "backward"};
constexpr std::array<std::string_view, 2> grids{"BH", "H"};
constexpr std::int64_t max_segments = 65536;  // beyond what any sequence is cut into
constexpr std::int64_t max_parts = 32;        // of a head
constexpr std::int64_t max_cluster = 8;       // blocks, of sm_90, where a kernel asks for no more

constexpr std::array<CommonNumber, 3> common{
    {{"key_dim", &Manifest::key_dim}, {"value_dim", &Manifest::value_dim}, {"parts", &Manifest::parts}}};

bool is_dim(std::string_view text) {
  constexpr std::array<std::string_view, 9> symbols{"B", "T", "H", "S", "K", "V", "N", "M", "G"};
  if (std::find(symbols.begin(), symbols.end(), text) != symbols.end()) return true;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value > 0;
}

bool has_gradient_name(Role role) {
  return is_gradient(role) || role == Role::output_gradient || role == Role::final_state_gradient;
}

std::vector<std::string> dims_from(const JsonFields& fields, Role role) {
  const json& list = fields.list("dims");
  std::vector<std::string> dims;
  for (const json& dim : list) {
    if (!dim.is_string() || !is_dim(dim.get<std::string>())) {
      fields.wrong("dims", list, "B, T, H, S, K, V, N, M, G or positive numbers, as strings");
    }
    dims.push_back(dim.get<std::string>());
  }
  if (!is_layout(role, dims)) fields.wrong("dims", list, layouts_text(role));
  if (dims.size() > Extents::max_rank) fields.wrong("dims", list, fmt::format("at most {}", Extents::max_rank));
  return dims;
}

TensorSpec tensor_from(const json& object, std::size_t index) {
  const JsonFields fields(object, fmt::format("the kernel manifest's tensor {}", index),
                          {"name", "role", "dtype", "dims"});
  TensorSpec spec;
  spec.name = fields.identifier("name");
  const std::string role = fields.text("role");
  if (!role_from(role)) fields.wrong("role", json(role), "one of " + role_names());
  spec.role = *role_from(role);
  if (has_gradient_name(spec.role) && (spec.name.size() < 2 || spec.name.front() != 'd')) {
    fields.wrong("name", json(spec.name), fmt::format("\"d\" and a name, as every {} has", role));
  }
  const std::string dtype = fields.text("dtype");
  if (!dtype_from(dtype)) fields.wrong("dtype", json(dtype), "f32, f16 or bf16");
  spec.dtype = *dtype_from(dtype);
  spec.dims = dims_from(fields, spec.role);
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

// The JSON of every manifest line.
std::vector<std::string_view> find_lines(std::string_view source) {
  std::vector<std::string_view> found;
  while (!source.empty()) {
    const std::size_t end = source.find('\n');
    const std::string_view line = source.substr(0, end);
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
    if (line.starts_with(marker)) found.push_back(line.substr(marker.size()));
  }
  return found;
}

// The field with the distance that a dimension depends on, where that distance is 0; else null.
const char* missing_distance(const Manifest& manifest, const std::string& dim) {
  if (manifest.saved_every == 0 && (dim == "N" || dim == "G")) return "saved_every";
  return manifest.states_every == 0 && dim == "M" ? "states_every" : nullptr;
}

// Sizes that depend on the distance of states need one.
void check_distances(const Manifest& manifest) {
  for (const TensorSpec& spec : manifest.tensors) {
    for (const std::string& dim : spec.dims) {
      const char* const missing = missing_distance(manifest, dim);
      if (missing == nullptr) continue;
      user_error("the kernel manifest's tensor \"{}\" has the dimension {}, for which \"{}\" has to be positive",
                 spec.name, dim, missing);
    }
  }
}

// Tensors of tokens that are moved as tiles.
std::vector<std::string> maps_from(const JsonFields& fields, const std::vector<TensorSpec>& tensors) {
  const json& list = fields.list("maps");
  std::vector<std::string> maps;
  for (const json& name : list) {
    const auto is_mapped = [&](const TensorSpec& spec) {
      return name == spec.name && spec.dims.size() == 4 && spec.dims[1] == "T";
    };
    if (std::none_of(tensors.begin(), tensors.end(), is_mapped)) {
      fields.wrong("maps", list, "names of tensors [B,T,H,D]");
    }
    maps.push_back(name.get<std::string>());
  }
  return maps;
}

Manifest parsed(std::string_view line) {
  constexpr std::int64_t max_int = std::numeric_limits<int>::max();
  const json object = parse_object(line, "the kernel manifest");
  const JsonFields fields(object, "the kernel manifest",
                          {"op",      "kernel",       "config",  "arch",        "key_dim",      "value_dim", "chunk",
                           "warps",   "shared_bytes", "pass",    "saved_every", "states_every", "grid",      "segments",
                           "cluster", "parts",        "refused", "waits",       "maps",         "tensors"});
  Manifest manifest;
  manifest.op = fields.identifier("op");
  manifest.kernel = fields.identifier("kernel");
  manifest.config = fields.text("config");
  if (escaped_name(manifest.config) != manifest.config) {
    fields.wrong("config", json(manifest.config), "one line without control characters");
  }
  manifest.arch = fields.text("arch");
  if (!is_arch(manifest.arch)) fields.wrong("arch", json(manifest.arch), "an architecture such as sm_90a");
  manifest.key_dim = static_cast<int>(fields.integer("key_dim", 1, max_int));
  manifest.value_dim = static_cast<int>(fields.integer("value_dim", 1, max_int));
  manifest.chunk = static_cast<int>(fields.integer("chunk", 1, max_int));
  manifest.warps = static_cast<int>(fields.integer("warps", 1, 32));
  manifest.shared_bytes = fields.integer("shared_bytes", 0, max_int);
  if (fields.has("pass")) manifest.pass = static_cast<Direction>(fields.one_of("pass", directions));
  if (fields.has("grid")) manifest.grid = static_cast<Grid>(fields.one_of("grid", grids));
  if (fields.has("saved_every")) manifest.saved_every = static_cast<int>(fields.integer("saved_every", 0, max_int));
  if (fields.has("states_every")) manifest.states_every = static_cast<int>(fields.integer("states_every", 0, max_int));
  if (fields.has("segments")) manifest.segments = static_cast<int>(fields.integer("segments", 1, max_segments));
  if (fields.has("cluster")) {
    manifest.cluster = static_cast<int>(fields.integer("cluster", 1, max_cluster));
    if (max_cluster % manifest.cluster != 0) fields.wrong("cluster", object.at("cluster"), "1, 2, 4 or 8");
  }
  if (fields.has("parts")) manifest.parts = static_cast<int>(fields.integer("parts", 1, max_parts));
  if (fields.has("refused")) manifest.refused = fields.integer("refused", 0, 1) != 0;
  if (fields.has("waits")) manifest.waits = fields.integer("waits", 0, 1) != 0;
  manifest.tensors = tensors_from(fields.list("tensors"));
  if (fields.has("maps")) manifest.maps = maps_from(fields, manifest.tensors);
  check_distances(manifest);
  return manifest;
}

}  // namespace

std::span<const CommonNumber> common_numbers() { return common; }

std::string to_line(const Manifest& manifest) {
  using nlohmann::ordered_json;
  ordered_json tensors = ordered_json::array();
  for (const TensorSpec& spec : manifest.tensors) {
    tensors.push_back(ordered_json{{"name", spec.name},
                                   {"role", std::string(name_of(spec.role))},
                                   {"dtype", std::string(name_of(spec.dtype))},
                                   {"dims", spec.dims}});
  }
  ordered_json object{
      {"op", manifest.op},       {"kernel", manifest.kernel},   {"config", manifest.config},
      {"arch", manifest.arch},   {"key_dim", manifest.key_dim}, {"value_dim", manifest.value_dim},
      {"chunk", manifest.chunk}, {"warps", manifest.warps},     {"shared_bytes", manifest.shared_bytes}};
  if (manifest.pass != Direction::forward) object["pass"] = directions[static_cast<std::size_t>(manifest.pass)];
  if (manifest.saved_every != 0) object["saved_every"] = manifest.saved_every;
  if (manifest.states_every != 0) object["states_every"] = manifest.states_every;
  if (manifest.grid != Grid::batch_head) object["grid"] = grids[static_cast<std::size_t>(manifest.grid)];
  if (manifest.segments != 1) object["segments"] = manifest.segments;
  if (manifest.cluster != 1) object["cluster"] = manifest.cluster;
  if (manifest.parts != 1) object["parts"] = manifest.parts;
  if (manifest.refused) object["refused"] = 1;
  if (manifest.waits) object["waits"] = 1;
  if (!manifest.maps.empty()) object["maps"] = manifest.maps;
  object["tensors"] = tensors;
  return fmt::format("{}{}\n", marker, object.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::vector<Manifest> manifests_from(std::string_view source) {
  std::vector<Manifest> manifests;
  std::set<std::string> kernels;
  for (const std::string_view line : find_lines(source)) {
    manifests.push_back(parsed(line));
    const std::string& kernel = manifests.back().kernel;
    if (!kernels.insert(kernel).second) user_error("the text has two manifests of the kernel \"{}\": keep one", kernel);
    check_against_text(manifests.back(), source);
  }
  if (manifests.empty()) {
    user_error(
        "the kernel has no line that begins with \"{}\": its header comment says what it is launched with. "
        "Pass the text as wkvc emitted it",
        marker);
  }
  return manifests;
}

Manifest manifest_from(std::string_view kernel_source) {
  std::vector<Manifest> manifests = manifests_from(kernel_source);
  if (manifests.size() > 1) {
    user_error("the text holds {} kernels, expected one; Program::load takes them all", manifests.size());
  }
  return std::move(manifests.front());
}

}  // namespace wkvc
