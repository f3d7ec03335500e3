#include "runtime/manifest/layout.h"

#include <algorithm>
#include <charconv>

namespace wkvc {
namespace {

using Dims = std::vector<std::string>;

bool begins(const Dims& dims, const Dims& front) {
  return dims.size() >= front.size() && std::equal(front.begin(), front.end(), dims.begin());
}

// Whether the dimensions from `from` on are none of `others`.
bool none_of(const Dims& dims, std::size_t from, const Dims& others) {
  return std::none_of(dims.begin() + static_cast<std::ptrdiff_t>(from), dims.end(), [&](const std::string& dim) {
    return std::find(others.begin(), others.end(), dim) != others.end();
  });
}

// Those of what a caller gives and gets.
bool is_outer_layout(const Dims& dims) {
  const Dims sizes{"B", "T", "H", "S", "N", "M", "G"};
  if (begins(dims, {"B", "T", "H"}) || begins(dims, {"B", "T", "S"}))
    return dims.size() <= 4 && none_of(dims, 3, sizes);
  if (begins(dims, {"B", "H"})) return dims.size() == 4 && none_of(dims, 2, sizes);
  return begins(dims, {"H"}) && dims.size() <= 2 && none_of(dims, 1, sizes);
}

bool is_workspace_layout(const Dims& dims) {
  if (begins(dims, {"B", "T", "H"})) return is_outer_layout(dims);
  std::size_t inner = begins(dims, {"B"}) ? 1 : 0;
  if (inner < dims.size() && dims[inner] == "H") ++inner;
  return none_of(dims, inner, {"B", "T", "H", "S", "M"});
}

}  // namespace

std::optional<std::int64_t> constant_from(const std::string& dim) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), value);
  return error == std::errc{} && end == dim.data() + dim.size() ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> segments_of(const TensorSpec& spec) {
  if (spec.role != Role::workspace || spec.dims.size() < 4 || !begins(spec.dims, {"B", "H"})) return std::nullopt;
  return constant_from(spec.dims[2]);
}

bool is_layout(Role role, const Dims& dims) {
  if (role == Role::workspace) return is_workspace_layout(dims);
  if (role == Role::kept) return begins(dims, {"B", "T", "H"}) && is_outer_layout(dims);
  const Dims inner_of_none{"B", "T", "H", "S", "N", "M", "G"};
  if (role == Role::saved_states)
    return begins(dims, {"B", "H", "N"}) && dims.size() == 5 && none_of(dims, 3, inner_of_none);
  if (role == Role::intermediate_states)
    return begins(dims, {"B", "M", "H"}) && dims.size() == 5 && none_of(dims, 3, inner_of_none);
  return is_outer_layout(dims);
}

std::string layouts_text(Role role) {
  if (role == Role::workspace) return "the order B,T,H[,D] or [B,][H,] and others behind, as a workspace has";
  if (role == Role::kept) return "the order B,T,H[,D], as what is kept of tokens";
  if (role == Role::saved_states) return "the order B,H,N,D,D, as saved states have";
  if (role == Role::intermediate_states) return "the order B,M,H,D,D, as intermediate states have";
  return "the order B,T,H[,D] or B,T,S[,D], B,H,D,D or H[,D]";
}

}  // namespace wkvc
