#include "runtime/base/decimal.h"

#include <charconv>
#include <cmath>

namespace wkvc {

std::optional<double> take_decimal(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<double> decimal_from(std::string_view text) {
  const std::optional<double> value = take_decimal(text);
  return value && text.empty() && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace wkvc
