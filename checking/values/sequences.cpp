#include "checking/values/sequences.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "codegen/config/options.h"
#include "runtime/error.h"
#include "runtime/launch/sequence_check.h"

namespace wkvc {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; (at = text.find(separator)) != std::string_view::npos; text.remove_prefix(at + 1)) {
    parts.push_back(text.substr(0, at));
  }
  parts.push_back(text);
  return parts;
}

std::int64_t number_from(std::string_view part, const std::string& text, const char* what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (error == std::errc{} && end == part.data() + part.size() && value >= 0 && value < (std::int64_t{1} << 34)) {
    return value;
  }
  user_error("--shape {}: '{}' is no {}, expected a whole number from 0 to 2^34 - 1", text, part, what);
}

std::vector<std::int64_t> starts_of(std::string_view lengths, const std::string& text) {
  std::vector<std::int64_t> starts{0};
  for (const std::string_view length : split(lengths, '+')) {
    starts.push_back(starts.back() + number_from(length, text, "length of a sequence"));
  }
  return starts;
}

}  // namespace

void check_starts(const std::vector<std::int64_t>& starts, std::int64_t tokens, const std::string& where) {
  expect_starts(starts, std::max(tokens, starts.empty() ? 0 : starts.back()), where);
  if (starts.back() == tokens) return;
  user_error("{} ends with {}, expected {}, as many tokens as there are", where, starts.back(), tokens);
}

void check_slots(const std::vector<std::int32_t>& slots, std::int64_t sequences, std::int64_t count,
                 const std::string& where) {
  if (static_cast<std::int64_t>(slots.size()) != sequences) {
    user_error("{} has {} numbers, expected {}, one for each sequence", where, slots.size(), sequences);
  }
  for (const std::int32_t slot : slots) {
    if (slot >= 0) continue;
    user_error("{} has the slot {}, expected 0 to {}: in a file every sequence has a slot", where, slot, count - 1);
  }
  expect_slots(slots, count, where);
}

LaunchSize with_maps(LaunchSize size, const Sequences& sequences) {
  if (!sequences.starts.empty()) {
    const auto count = static_cast<std::int64_t>(sequences.starts.size()) - 1;
    size.map = SequenceMap{count, sequences.starts.data(), true};
  }
  if (size.slots) size.slots->slots = sequences.slots.data();
  return size;
}

Shape parse_sequences(const std::string& text) {
  const std::vector<std::string_view> parts = split(text, ',');
  if (parts.size() != 3) return {parse_shape(text, /*least=*/0), nullptr};  // which says what is wrong
  const std::vector<std::string_view> heads = split(parts[2], '/');
  Shape shape;
  std::string tokens(parts[1]);
  if (tokens.find('+') != std::string::npos) {
    const auto sequences = std::make_shared<const Sequences>(Sequences{starts_of(parts[1], text), {}});
    tokens = std::to_string(sequences->starts.back());
    shape.sequences = sequences;
  }
  shape.size = parse_shape(fmt::format("{},{},{}", parts[0], tokens, heads[0]), /*least=*/0);
  if (heads.size() > 1) shape.size.shared_heads = number_from(heads[1], text, "number of shared heads");
  if (heads.size() > 2 || (heads.size() == 2 && shape.size.shared_heads == 0)) {
    user_error("--shape {}: expected H or H/S, heads and shared heads, such as 8/2", text);
  }
  if (!shape.sequences) return shape;
  if (shape.size.batches != 1) {
    user_error("--shape {}: B is {}, expected 1 with lengths of sequences", text, shape.size.batches);
  }
  shape.size = with_maps(shape.size, *shape.sequences);
  return shape;
}

}  // namespace wkvc
