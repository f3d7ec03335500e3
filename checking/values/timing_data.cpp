#include "checking/values/timing_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "checking/values/case_file.h"
#include "checking/values/declared_ranges.h"
#include "checking/values/repeated.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

std::string text_of(LaunchSize size) { return fmt::format("{},{},{}", size.batches, size.tokens, size.heads); }

// What becomes of tensors of one size in launches of another one.
std::string_view verb(LaunchSize from, LaunchSize to) {
  using Pair = std::pair<std::int64_t, std::int64_t>;
  const std::array<Pair, 3> pairs{{{from.batches, to.batches}, {from.tokens, to.tokens}, {from.heads, to.heads}}};
  const bool less = std::ranges::any_of(pairs, [](Pair pair) { return pair.first < pair.second; });
  const bool more = std::ranges::any_of(pairs, [](Pair pair) { return pair.first > pair.second; });
  return less && more ? " repeated and cut to " : less ? " repeated to " : more ? " cut to " : "";
}

std::string origin_of(std::string_view source, LaunchSize from, LaunchSize to) {
  const std::string_view change = verb(from, to);
  return fmt::format("{}, {}{}{}", source, text_of(from), change, change.empty() ? "" : text_of(to));
}

Case from_file(rec::RecurrenceOp recurrence, const Manifest& manifest, const std::string& file) {
  SafetensorsFile tensors = read_tensors(manifest, file);
  Case given = case_of_user(recurrence, manifest, tensors);
  if (given.size.map || given.size.slots)
    user_error("{}: launches are timed on batches of equal length; leave cu_seqlens and state_indices out", file);
  if (given.size.is_empty())
    user_error("{}: its tensors are of {} batches, {} tokens and {} heads; expected one of each at least", file,
               given.size.batches, given.size.tokens, given.size.heads);
  return given;
}

}  // namespace

TimingData timing_data(rec::RecurrenceOp recurrence, const Manifest& manifest, LaunchSize size,
                       const std::optional<std::string>& file) {
  if (file) {
    Case given = from_file(recurrence, manifest, *file);
    std::string origin = origin_of(*file, given.size, size);
    return {std::move(given), /*drawn=*/false, std::move(origin)};
  }
  const LaunchSize small{1, std::min<std::int64_t>(size.tokens, 512), std::min<std::int64_t>(size.heads, 8)};
  return {random_case(recurrence, manifest, small, 0), /*drawn=*/true,
          origin_of("drawn as layers give them", small, size)};
}

HostTensor tensor_of(const TimingData& data, const TensorSpec& spec, const Manifest& manifest, LaunchSize size) {
  const Extents shape = shape_of(spec, manifest, size);
  const auto found = data.values.tensors.find(spec.name);
  if (!is_result(spec.role) && found != data.values.tensors.end()) return repeated(found->second, shape);
  HostTensor tensor(spec.dtype, shape);
  if (is_result(spec.role)) tensor.poison();
  return tensor;
}

}  // namespace wkvc
