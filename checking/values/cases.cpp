#include "checking/values/case_file.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "checking/output.h"
#include "checking/values/sampler.h"
#include "runtime/base/escape.h"
#include "runtime/error.h"
#include "runtime/launch/map_names.h"
#include "runtime/tensor/checked.h"

namespace wkvc {
namespace {

// The tensors and, beside them, the float64 copies of the reference: refused before memory runs out.
void expect_enough_memory(const Manifest& manifest, LaunchSize size) {
  CheckedInt bytes = 0;
  for (const TensorSpec& spec : manifest.tensors) {
    CheckedInt elements = 1;
    for (const std::int64_t extent : shape_of(spec, manifest, size)) elements = checked_mul(elements, extent);
    bytes = checked_add(bytes, checked_mul(elements, static_cast<std::int64_t>(size_of(spec.dtype) + sizeof(double))));
  }
  if (!bytes) user_error("shape {},{},{}: its tensors exceed 63 bits", size.batches, size.tokens, size.heads);
  const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  if (*bytes > memory) {
    user_error("shape {},{},{}: its tensors take {:.1f} GiB; this machine has {:.1f} GiB of memory", size.batches,
               size.tokens, size.heads, static_cast<double>(*bytes) / (1 << 30),
               static_cast<double>(memory) / (1 << 30));
  }
}

// The file's tensor in the kernel's dtype, which has to hold every value exactly.
HostTensor stored_as(DType dtype, const std::string& name, SafetensorsFile& file) {
  const HostTensor& given = file.at(name);
  HostTensor stored(dtype, given.shape());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double value = given.get(i);
    stored.set(i, value);
    if (stored.get(i) == value || std::isnan(value)) continue;
    user_error(
        "{}: tensor '{}' is {} and the kernel reads {}, which would round element {} from {} to {}; convert it, or "
        "choose another --io, or for states another --state",
        file.path.string(), name, file.dtypes.at(name), name_of(dtype), i, value, stored.get(i));
  }
  return stored;
}

bool is_given(Role role) { return !is_result(role) && !is_internal(role); }

// The maps that a file has.
Sequences sequences_in(const SafetensorsFile& file) {
  Sequences sequences;
  for (const char* name : {starts_name, slots_name}) {
    if (!file.holds(name) || file.integers.contains(name)) continue;
    user_error("{}: tensor '{}' is {}; expected I32 or I64", file.path.string(), name, file.dtypes.at(name));
  }
  if (file.integers.contains(starts_name)) {
    sequences.starts = file.integers.at(starts_name);
    if (sequences.starts.empty())
      user_error("{}: {} has no numbers, expected one more than there are sequences", file.path.string(), starts_name);
  }
  if (!file.integers.contains(slots_name)) return sequences;
  for (const std::int64_t slot : file.integers.at(slots_name)) {
    const auto narrow = static_cast<std::int32_t>(slot);
    sequences.slots.push_back(narrow == slot ? narrow : -1);
  }
  return sequences;
}

// A tensor that the file has to hold.
HostTensor& required(SafetensorsFile& file, const TensorSpec& spec) {
  if (spec.role == Role::output_gradient && !file.holds(spec.name)) {
    user_error(
        "{} has no tensor '{}', the gradient of '{}' that the backward pass starts from; add it, or run with "
        "--pass forward",
        file.path.string(), spec.name, differentiated(spec));
  }
  return file.at(spec.name);
}

// What states say of B is not what tokens say where sequences are mapped.
LaunchSize size_in(SafetensorsFile& file, const Manifest& manifest, const Sequences& sequences) {
  const bool mapped = !sequences.starts.empty() || file.holds(slots_name);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_given(spec.role) || (is_optional(spec.role) && (mapped || !file.holds(spec.name)))) continue;
    shapes[spec.name] = required(file, spec).shape();
  }
  const std::string where = "tensor ";
  try {
    LaunchSize size = with_maps(size_from(manifest, shapes), sequences);
    if (size.map) check_starts(sequences.starts, size.tokens, where + starts_name);
    if (size.map && size.batches != 1) user_error("B is {}, expected 1 with {}", size.batches, starts_name);
    if (!file.holds(slots_name)) return size;
    if (!file.holds("initial_state"))
      user_error("{} is of slots of 'initial_state', which is missing", where + slots_name);
    size.slots = SlotMap{file.at("initial_state").shape().at(0), sequences.slots.data()};
    check_slots(sequences.slots, size.sequences(), size.slots->count, where + slots_name);
    return size;
  } catch (const UserError& error) {
    user_error("{}: {}", file.path.string(), error.what());
  }
}

// Names that the kernels take or give, or gradients of such, which a file may hold for comparison in other passes.
std::set<std::string> known_names(const Manifest& manifest) {
  std::set<std::string> names{starts_name, slots_name};
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_internal(spec.role)) names.insert({spec.name, "d" + spec.name});
  }
  return names;
}

std::vector<std::string> unused_in(const SafetensorsFile& file, const Manifest& manifest) {
  const std::set<std::string> known = known_names(manifest);
  std::vector<std::string> unused;
  for (const auto& [name, dtype] : file.dtypes) {
    if (!known.contains(name)) unused.push_back(escaped_name(name));
  }
  return unused;
}

HostTensor poisoned(DType dtype, std::vector<std::int64_t> shape) {
  HostTensor tensor(dtype, std::move(shape));
  tensor.poison();
  return tensor;
}

}  // namespace

Case random_case(rec::RecurrenceOp recurrence, const Manifest& manifest, LaunchSize size, std::uint64_t seed,
                 Decays decays) {
  expect_enough_memory(manifest, size);
  Sampler sampler(seed), steep_sampler(~seed);
  Case drawn{size, {}};
  std::map<std::string, Draw> erasures;
  for (const TensorSpec& spec : manifest.tensors) {
    if (is_internal(spec.role)) continue;
    HostTensor& tensor = drawn.tensors[spec.name] = poisoned(spec.dtype, shape_of(spec, manifest, size));
    if (is_result(spec.role)) continue;
    const bool declared = spec.role == Role::input || spec.role == Role::parameter;
    const Draw draw = declared ? draw_of(recurrence, spec.name) : Draw{};
    sampler.fill(tensor, draw);
    if (decays == Decays::steep_too) steep_sampler.steepen(tensor, draw, spec.dims.back() == "H");
    if (draw.distribution == Distribution::erasure) erasures[spec.name] = draw;
  }
  for (const auto& [name, draw] : erasures) {
    sampler.erase(drawn.tensors.at(name), drawn.tensors.at(draw.erased), draw.range);
  }
  return drawn;
}

void expect_shape(const SafetensorsFile& file, const TensorSpec& spec, const HostTensor& tensor,
                  const std::vector<std::int64_t>& expected) {
  if (tensor.shape() == expected) return;
  user_error("{}: tensor '{}' has the shape {}; expected {}", file.path.string(), spec.name, shape_text(tensor.shape()),
             shape_text(expected));
}

SafetensorsFile read_tensors(const Manifest& manifest, const std::filesystem::path& path) {
  Names names{starts_name, slots_name};
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_internal(spec.role)) names.insert(spec.name);
  }
  return read_safetensors(path, names);
}

Case case_from_file(const Manifest& manifest, SafetensorsFile& file) {
  const auto sequences = std::make_shared<const Sequences>(sequences_in(file));
  Case given{size_in(file, manifest, *sequences), {}, unused_in(file, manifest)};
  if (given.size.map || given.size.slots) given.sequences = sequences;
  expect_enough_memory(manifest, given.size);
  for (const TensorSpec& spec : manifest.tensors) {
    const auto shape = shape_of(spec, manifest, given.size);
    if (is_result(spec.role)) {
      given.tensors[spec.name] = poisoned(spec.dtype, shape);
    } else if (is_given(spec.role) && (!is_optional(spec.role) || file.holds(spec.name))) {
      expect_shape(file, spec, file.at(spec.name), shape);
      given.tensors[spec.name] = stored_as(spec.dtype, spec.name, file);
    }
  }
  return given;
}

void complain_of_unused(const Case& given, const Manifest& manifest, const std::filesystem::path& path) {
  if (given.unused.empty()) return;
  std::vector<std::string> taken;
  for (const TensorSpec& spec : manifest.tensors) {
    if (is_given(spec.role)) taken.push_back(spec.name);
  }
  const std::string message = fmt::format("{}: nothing uses '{}'; the kernels of {} take {}", path.string(),
                                          fmt::join(given.unused, "', '"), manifest.op, fmt::join(taken, ", "));
  complain(message.c_str());
}

}  // namespace wkvc
