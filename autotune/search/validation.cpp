#include "autotune/search/validation.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "checking/execute.h"
#include "runtime/base/hash.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr int runs = 3;
constexpr std::int64_t round_tokens = 192;  // a multiple of the chunks that are tried

bool same_bytes(const HostTensor& a, const HostTensor& b) { return std::ranges::equal(a.bytes(), b.bytes()); }

// The name of a tensor that differs, among results or among all others; empty: none.
std::string differing(const Manifest& manifest, const TensorMap& a, const TensorMap& b, bool results) {
  for (const TensorSpec& spec : manifest.tensors) {
    if (is_internal(spec.role) || is_result(spec.role) != results) continue;
    if (!same_bytes(a.at(spec.name), b.at(spec.name))) return spec.name;
  }
  return "";
}

std::string hash_of(const Manifest& manifest, const TensorMap& tensors) {
  std::string bytes;
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_result(spec.role)) continue;
    const auto part = tensors.at(spec.name).bytes();
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return hex_hash(bytes);
}

// Of runs of one program on one case.
std::string fault_of(const Manifest& manifest, const Case& given, const std::vector<TensorMap>& after) {
  for (const TensorMap& tensors : after) {
    if (const std::string name = differing(manifest, given.tensors, tensors, /*results=*/false); !name.empty()) {
      return fmt::format("the kernels write to the input {}", name);
    }
    if (const std::string name = differing(manifest, after.front(), tensors, /*results=*/true); !name.empty()) {
      return fmt::format("two runs give different {}", name);
    }
  }
  return "";
}

}  // namespace

LaunchSize size_to_validate(LaunchSize timed) {
  LaunchSize size = timed;
  size.batches = std::min<std::int64_t>(timed.batches, 2);
  size.heads = std::min<std::int64_t>(timed.heads, 2);
  if (timed.tokens >= 2 * round_tokens) size.tokens = round_tokens + timed.tokens % round_tokens;
  return size;
}

Validation::Validation(rec::RecurrenceOp recurrence, const Runnable& runnable, LaunchSize size, std::uint64_t seed)
    : recurrence_(recurrence),
      given_(random_case(recurrence, runnable.manifest, size, seed)),
      reference_(recurrence, runnable, given_) {}

Verdict Validation::of(const Program& program, const Runnable& runnable) const {
  std::vector<TensorMap> after;
  try {
    for (int run = 0; run < runs; ++run) after.push_back(executed(program, given_));
  } catch (const InternalError& error) {
    return {.fault = fmt::format("the kernels fail: {}", error.what()), .errors = {}, .outputs = ""};
  }
  Verdict verdict{fault_of(runnable.manifest, given_, after), {}, hash_of(runnable.manifest, after.front())};
  const std::vector<ResultError> results = compare(reference_, runnable, {given_.size, after.front()});
  for (const ResultError& result : results) verdict.errors[result.tensor] = {result.error, result.bound};
  const auto missing = missing_results(recurrence_, runnable, {});
  if (!missing.empty()) verdict.fault = fmt::format("no {} comes out", fmt::join(missing, ", "));
  if (verdict.fault.empty() && !within_bounds(verdict.errors)) {
    const auto found = worst(verdict.errors);
    verdict.fault =
        fmt::format("the error of {} is {:.2e}, above {:.1e}", found->first, found->second.error, found->second.bound);
  }
  const auto row = std::ranges::find_if_not(results, &ResultError::rows_passed);
  if (verdict.fault.empty() && row != results.end()) {
    verdict.fault = fmt::format("the error of {} at {} is {:.2e}, above {:.1e}", row->tensor,
                                text_of(row->worst->place), row->worst->error, row->worst->bound);
  }
  return verdict;
}

}  // namespace wkvc
