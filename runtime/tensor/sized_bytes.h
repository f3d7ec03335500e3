// Pieces of bytes one after another, each behind its size, so that no two sequences of pieces look the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wkvc {

inline void append_sized(std::string& bytes, std::string_view piece) {
  const std::uint64_t size = piece.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += piece;
}

// Takes the first piece away from `bytes`; empty, and nothing is taken, when they are too few.
inline std::optional<std::string_view> take_sized(std::string_view& bytes) {
  std::uint64_t size = 0;
  if (bytes.size() < sizeof size) return std::nullopt;
  bytes.copy(reinterpret_cast<char*>(&size), sizeof size);
  if (size > bytes.size() - sizeof size) return std::nullopt;
  const std::string_view piece = bytes.substr(sizeof size, size);
  bytes.remove_prefix(sizeof size + size);
  return piece;
}

}  // namespace wkvc
