#include "runtime/launch/sequence_check.h"

#include <algorithm>
#include <vector>

#include "runtime/error.h"

namespace wkvc {
namespace {

std::vector<std::int64_t> starts_of(const SequenceMap& map) {
  const auto count = static_cast<std::size_t>(map.count) + 1;
  if (map.wide) {
    const auto* const wide = static_cast<const std::int64_t*>(map.starts);
    return {wide, wide + count};
  }
  const auto* const narrow = static_cast<const std::int32_t*>(map.starts);
  return {narrow, narrow + count};
}

}  // namespace

void expect_starts(std::span<const std::int64_t> starts, std::int64_t tokens, const std::string& where) {
  if (starts.empty()) user_error("{} is empty, expected the start of each sequence and the end of the last", where);
  if (starts.front() != 0) user_error("{} begins with {}, expected 0", where, starts.front());
  for (std::size_t n = 1; n < starts.size(); ++n) {
    if (starts[n] >= starts[n - 1]) continue;
    user_error("{} decreases from {} to {} at {}: expected the start of each sequence and the end of the last", where,
               starts[n - 1], starts[n], n);
  }
  if (starts.back() <= tokens) return;
  user_error("{} ends with {}, expected at most {}, as many tokens as there are", where, starts.back(), tokens);
}

void expect_slots(std::span<const std::int32_t> slots, std::int64_t count, const std::string& where,
                  std::string_view or_else) {
  std::vector<std::int32_t> sorted(slots.begin(), slots.end());
  std::erase_if(sorted, [](std::int32_t slot) { return slot < 0; });
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    user_error("{} has the slot {} twice, expected one for each sequence", where, *twice);
  }
  if (sorted.empty() || sorted.back() < count) return;
  if (count == 0)
    user_error("{} has the slot {}, but there are no slots: give a pool that has some", where, sorted.back());
  user_error("{} has the slot {}, expected 0 to {}{}", where, sorted.back(), count - 1, or_else);
}

void expect_sequences(const LaunchSize& size) {
  if (size.report != nullptr) return;
  if (size.map) expect_starts(starts_of(*size.map), size.tokens, "the map of sequences (cu_seqlens)");
  if (!size.slots) return;
  const std::span<const std::int32_t> slots(size.slots->slots, static_cast<std::size_t>(size.sequences()));
  expect_slots(slots, size.slots->count, "the slots of states (state_indices)",
               ", or -1 for a sequence that is left out");
}

}  // namespace wkvc
