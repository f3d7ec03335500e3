#include "runtime/cache/cache_entry.h"

#include <algorithm>
#include <array>

#include "runtime/error.h"
#include "runtime/tensor/sized_bytes.h"

namespace wkvc {
namespace {

constexpr std::string_view magic{"wkvcent1", 8};
constexpr std::string_view extension = ".wkvc";
constexpr std::size_t hash_digits = 32;

template <class T>
void append_raw(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

[[noreturn]] void fail_cut_short() { user_error("is cut short, or longer than its parts"); }

template <class T>
T take_raw(std::string_view& bytes) {
  T value{};
  if (bytes.size() < sizeof value) fail_cut_short();
  bytes.copy(reinterpret_cast<char*>(&value), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

std::string_view take_piece(std::string_view& bytes) {
  const auto piece = take_sized(bytes);
  if (!piece) fail_cut_short();
  return *piece;
}

std::array<std::string CacheLabel::*, 6> fields() {
  return {&CacheLabel::step, &CacheLabel::op,   &CacheLabel::config,
          &CacheLabel::arch, &CacheLabel::tool, &CacheLabel::wkvc};
}

}  // namespace

std::string encode_entry(const EntryId& id, const CacheLabel& label, std::string_view payload) {
  std::string bytes(magic);
  append_raw(bytes, id);
  for (const auto field : fields()) append_sized(bytes, label.*field);
  append_sized(bytes, payload);
  append_raw(bytes, hash128(bytes));
  return bytes;
}

CacheEntry decode_entry(std::string_view bytes) {
  if (!bytes.starts_with(magic)) user_error("does not begin as an entry of this version does");
  std::string_view rest = bytes.substr(magic.size());
  CacheEntry entry{.id = take_raw<EntryId>(rest), .label = {}, .payload = {}};
  for (const auto field : fields()) entry.label.*field = take_piece(rest);
  const std::string_view payload = take_piece(rest);
  const auto checksum = take_raw<Hash128>(rest);
  if (!rest.empty()) fail_cut_short();
  if (hash128(bytes.substr(0, bytes.size() - sizeof checksum)) != checksum) user_error("does not fit its checksum");
  entry.payload = payload;
  return entry;
}

std::string entry_name(const EntryId& id) { return hex(id.name) + std::string(extension); }

bool is_entry_name(std::string_view name) {
  constexpr std::string_view digits = "0123456789abcdef";
  return name.size() == hash_digits + extension.size() && name.ends_with(extension) &&
         name.find_first_not_of(digits) == hash_digits;
}

bool is_temporary_name(std::string_view name) {
  const std::size_t size = std::min(name.size(), hash_digits + extension.size());
  return is_entry_name(name.substr(0, size)) && name.substr(size).starts_with('.') && name.ends_with(".tmp");
}

}  // namespace wkvc
