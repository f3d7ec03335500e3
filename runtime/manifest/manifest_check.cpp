#include "runtime/manifest/manifest_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error.h"
#include "runtime/manifest/heads.h"
#include "runtime/manifest/layout.h"

namespace wkvc {
namespace {

[[noreturn]] void refuse(const Manifest& manifest, std::string_view says, std::string_view kernel_says) {
  user_error("the manifest of the kernel \"{}\" says {}, but the text {}: change both, or neither", manifest.kernel,
             says, kernel_says);
}

// The number that a text begins with.
std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

// The number that ends before the first `mark`.
std::optional<std::int64_t> number_before(std::string_view text, std::string_view mark) {
  const std::size_t end = text.find(mark);
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t blank = text.substr(0, end).find_last_not_of("0123456789");
  return number_in(text.substr(blank + 1, end - blank - 1));
}

// Calls `use` with what follows each `mark`.
void for_each(std::string_view text, std::string_view mark, const auto& use) {
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    use(text.substr(at + mark.size()));
  }
}

// Its parts between commas, without the blanks before them.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  while (true) {
    list.remove_prefix(std::min(list.find_first_not_of(' '), list.size()));
    const std::size_t comma = list.find(',');
    parts.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

void expect_number(const Manifest& manifest, std::string_view what, std::int64_t said,
                   std::optional<std::int64_t> found) {
  if (!found || *found == said) return;
  refuse(manifest, fmt::format("{} {}", what, said), fmt::format("says {}", *found));
}

// "head 64x32 chunk 16 …", which may be of other configurations in another form.
void check_config(const Manifest& manifest) {
  const std::string_view config = manifest.config;
  if (!config.starts_with("head ")) return;
  const std::string head = fmt::format("head {}x{} ", manifest.key_dim, manifest.head_values());
  if (!(manifest.config + " ").starts_with(head)) {
    refuse(manifest, fmt::format("key_dim {} and value_dim {}", manifest.key_dim, manifest.value_dim),
           fmt::format("has the config \"{}\"", config));
  }
  for_each(config, " chunk ",
           [&](std::string_view rest) { expect_number(manifest, "chunk", manifest.chunk, number_in(rest)); });
}

// "// rwkv7_forward: emitted by wkvc …", and below it the configuration and the launch in words.
void check_header(const Manifest& manifest, std::string_view source) {
  const std::size_t begin = source.find(fmt::format("// {}: emitted by wkvc", manifest.kernel));
  if (begin == std::string_view::npos) return;
  std::string_view header = source.substr(begin);
  header = header.substr(0, header.find("// wkvc-manifest: "));
  const std::string_view config = header.substr(std::min(header.find('\n') + 1, header.size()));
  const std::string expected = fmt::format("//   {}, {}\n", manifest.config, manifest.arch);
  if (!config.starts_with(expected)) {
    refuse(manifest, fmt::format("\"{}, {}\"", manifest.config, manifest.arch),
           fmt::format("has the comment \"{}\"", config.substr(0, config.find('\n'))));
  }
  expect_number(manifest, "warps", manifest.warps, number_before(header, " warps"));
  expect_number(manifest, "shared_bytes", manifest.shared_bytes, number_before(header, " bytes of shared memory"));
}

// "WKVC_KERNEL(name, tensors, warps, blocks a multiprocessor[, blocks of a cluster])"
void check_entry(const Manifest& manifest, std::string_view kernel) {
  const std::string_view inside = kernel.substr(kernel.find('(') + 1);
  const std::string_view entry = inside.substr(0, inside.find(')'));
  const std::vector<std::string_view> parts = split(entry);
  const std::string tensors = std::to_string(manifest.tensors.size()), warps = std::to_string(manifest.warps);
  const std::string cluster = std::to_string(manifest.cluster);
  if (parts.size() >= 4 && parts[1] == tensors && parts[2] == warps && (parts.size() > 4 ? parts[4] : "1") == cluster) {
    return;
  }
  user_error(
      "the manifest of the kernel \"{0}\" has {1} tensors, {2} warps and {3}, but it begins WKVC_KERNEL({4}): expected "
      "WKVC_KERNEL({0}, {1}, {2}, …{5})",
      manifest.kernel, tensors, warps, manifest.cluster > 1 ? "a cluster of " + cluster : "no cluster", entry,
      manifest.cluster > 1 ? ", " + cluster : "");
}

// Every line that has the macro is the definition, and the first one comes before anything is included.
void check_macro(const Manifest& manifest, const Macro& macro, std::string_view source) {
  const std::string expected = macro.line(), says = fmt::format("{} {}", macro.field, macro.number);
  const std::size_t first_include = source.find("#include");
  bool defined = macro.number == 1;
  for (std::size_t at = source.find(macro.name); at != std::string_view::npos; at = source.find(macro.name, at + 1)) {
    const std::size_t begin = source.rfind('\n', at) + 1;  // npos + 1 is 0
    const std::string_view line = source.substr(begin, source.find('\n', at) - begin);
    if (line != expected || macro.number == 1) refuse(manifest, says, fmt::format("has the line \"{}\"", line));
    defined |= at < first_include;
  }
  if (!defined) refuse(manifest, says, fmt::format("does not begin with \"{}\"", expected));
}

// By which the config tells heads.
void check_macros(const Manifest& manifest, std::string_view source) {
  for (const Macro& macro : macros_of(manifest)) check_macro(manifest, macro, source);
}

// "const TensorArg& r_global = args.tensor[0];"
void check_places(const Manifest& manifest, std::string_view kernel) {
  constexpr std::string_view mark = "_global = args.tensor[";
  for_each(kernel, "const TensorArg& ", [&](std::string_view rest) {
    const std::string_view line = rest.substr(0, rest.find('\n')), name = line.substr(0, line.find(mark));
    if (name.size() == line.size()) return;
    const auto place = number_in(line.substr(name.size() + mark.size()));
    const bool known = place && *place >= 0 && static_cast<std::size_t>(*place) < manifest.tensors.size();
    const std::string there = known ? manifest.tensors[static_cast<std::size_t>(*place)].name : "none";
    if (there != name)
      refuse(manifest, fmt::format("tensor {} is \"{}\"", *place, there), fmt::format("has \"{}\"", name));
  });
}

// Rows of a tensor of tokens, as tiles: "Ring<bf16, 16, 64, 2> r_ring{…". Elements of a row; 0 where another size
// decides.
std::int64_t row_length(const Manifest& manifest, const TensorSpec& spec) {
  if (spec.dims.back() == "K") return manifest.key_dim;
  if (spec.dims.back() == "V") return manifest.value_dim;
  return number_in(spec.dims.back()).value_or(0);
}

const TensorSpec* find_tensor(const Manifest& manifest, std::string_view name) {
  const auto found = std::ranges::find(manifest.tensors, name, &TensorSpec::name);
  return found == manifest.tensors.end() ? nullptr : &*found;
}

void check_ring(const Manifest& manifest, std::string_view rest) {
  const std::size_t end = rest.find("> "), name_end = rest.find("_ring");
  if (end == std::string_view::npos || name_end == std::string_view::npos || name_end < end) return;
  const std::vector<std::string_view> parts = split(rest.substr(0, end));
  const TensorSpec* const spec = find_tensor(manifest, rest.substr(end + 2, name_end - end - 2));
  if (spec == nullptr || parts.size() < 4 || spec->dims.size() != 4) return;
  const std::int64_t length = row_length(manifest, *spec);
  const bool is_of_tokens = spec->dims[1] == "T";
  if (parts[0] == name_of(spec->dtype) && parts[2] == std::to_string(length) &&
      (!is_of_tokens || parts[1] == std::to_string(manifest.chunk))) {
    return;
  }
  refuse(manifest,
         fmt::format("\"{}\" has {} elements a row of {}, in chunks of {}", spec->name, length, name_of(spec->dtype),
                     manifest.chunk),
         fmt::format("moves tiles of {}x{} {}", parts[1], parts[2], parts[0]));
}

// "OutputRows<bf16> o_rows(o_global, block)", "keep_state<f32>(S, saved_states_global, block, …": what is written is of
// the dtype that the manifest says.
void check_written(const Manifest& manifest, std::string_view kernel) {
  for (const std::string_view mark : {"OutputRows<", "keep_state<"}) {
    for_each(kernel, mark, [&](std::string_view rest) {
      const std::string_view dtype = rest.substr(0, rest.find_first_of(",>")), line = rest.substr(0, rest.find('\n'));
      const std::size_t end = line.find("_global");
      if (end == std::string_view::npos) return;
      const std::size_t begin = line.substr(0, end).find_last_of(" (");
      const TensorSpec* const spec = find_tensor(manifest, line.substr(begin + 1, end - begin - 1));
      if (spec == nullptr || dtype == name_of(spec->dtype)) return;
      refuse(manifest, fmt::format("\"{}\" is {}", spec->name, name_of(spec->dtype)), fmt::format("writes {}", dtype));
    });
  }
}

void check_distance(const Manifest& manifest, std::string_view kernel) {
  for_each(kernel, "if (c % ", [&](std::string_view rest) {
    if (rest.substr(0, rest.find('\n')).find(" == 0) keep_state<") == std::string_view::npos) return;
    expect_number(manifest, "saved_every", manifest.saved_every, number_in(rest));
  });
}

// "store_intermediate_state<32, 64>(S, …"
void check_intermediate_states(const Manifest& manifest, std::string_view kernel) {
  for_each(kernel, "store_intermediate_state<", [&](std::string_view rest) {
    expect_number(manifest, "states_every", manifest.states_every, number_in(rest));
  });
}

void check_chunks(const Manifest& manifest, std::string_view kernel) {
  for (const std::string_view mark : {"chunk_count<", "valid_rows<"}) {
    for_each(kernel, mark,
             [&](std::string_view rest) { expect_number(manifest, "chunk", manifest.chunk, number_in(rest)); });
  }
}

// Places in shared memory: "constexpr int at_k_ring = 4608, at_M = 27648;", or in texts that were written by hand
// "block.shared<f16, 16, 64>(27648)", "block.floats(36352)", "{block.memory + 4608}".
void check_shared(const Manifest& manifest, std::string_view kernel) {
  constexpr std::array<std::string_view, 8> marks{"block.memory + ",  "block.floats(",        "block.shared<",
                                                  "block.padded<",    "block.scaled_shared<", "block.column_slabs<",
                                                  "block.row_slabs<", "block.staged<"};
  const auto check = [&](std::optional<std::int64_t> offset) {
    if (!offset || *offset < manifest.shared_bytes) return;
    refuse(manifest, fmt::format("shared_bytes {}", manifest.shared_bytes),
           fmt::format("uses shared memory at byte {}", *offset));
  };
  for (const std::string_view mark : marks) {
    for_each(kernel, mark, [&](std::string_view rest) {
      if (mark.ends_with('<')) rest.remove_prefix(std::min(rest.find('(') + 1, rest.size()));
      check(number_in(rest));
    });
  }
  for_each(kernel, "static_assert(combining_bytes<", [&](std::string_view rest) {
    const std::size_t equals = rest.find(" == ");
    if (equals < rest.find(';'))
      expect_number(manifest, "shared_bytes", manifest.shared_bytes, number_in(rest.substr(equals + 4)));
  });
  for_each(kernel, " at_", [&](std::string_view rest) {
    const std::size_t equals = rest.find(" = ");
    if (equals < rest.find_first_of(",;()")) check(number_in(rest.substr(equals + 3)));
  });
}

// Workspaces [B,H,segments,…], in which segments keep values for each other, have room for each segment.
void check_segments(const Manifest& manifest) {
  if (manifest.segments == 1 || manifest.grid == Grid::head) return;  // not cut, or sums over all segments
  for (const TensorSpec& spec : manifest.tensors) {
    if (const auto segments = segments_of(spec); segments && *segments != manifest.segments)
      user_error(
          "the manifest of the kernel \"{}\" says segments {}, but its tensor \"{}\" is [{}]: change both, or neither",
          manifest.kernel, manifest.segments, spec.name, fmt::join(spec.dims, ", "));
  }
}

// From the first line of the kernel to its closing brace; empty where there is none.
std::string_view text_of(const Manifest& manifest, std::string_view source) {
  const std::size_t begin = source.find(fmt::format("WKVC_KERNEL({}, ", manifest.kernel));
  if (begin == std::string_view::npos) return {};
  return source.substr(begin, source.find("\n}\n", begin) - begin);
}

// A kernel that a user has written may not wait.
void check_waits(const Manifest& manifest, std::string_view source, std::string_view kernel) {
  if (!manifest.waits || !kernel.empty() || source.find("__global__") == std::string_view::npos) return;
  user_error(
      "the manifest of the kernel \"{0}\" says that it waits for the kernel before it, but the text has no "
      "WKVC_KERNEL({0}, …): take \"waits\" out of the manifest",
      manifest.kernel);
}

}  // namespace

void check_against_text(const Manifest& manifest, std::string_view source) {
  const std::string_view kernel = text_of(manifest, source);
  if (!kernel.empty()) check_macros(manifest, source);
  check_config(manifest);
  check_segments(manifest);
  check_header(manifest, source);
  check_waits(manifest, source, kernel);
  if (kernel.empty()) return;  // it will not compile, was compiled, or is of another form
  check_entry(manifest, kernel);
  check_places(manifest, kernel);
  check_chunks(manifest, kernel);
  check_distance(manifest, kernel);
  check_intermediate_states(manifest, kernel);
  for_each(kernel, "Ring<", [&](std::string_view rest) { check_ring(manifest, rest); });
  check_written(manifest, kernel);
  check_shared(manifest, kernel);
}

}  // namespace wkvc
