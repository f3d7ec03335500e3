#include "checking/values/magnitudes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "checking/reference/rows.h"
#include "checking/values/draw.h"

namespace wkvc {
namespace {

// The largest |element| of a head of one sequence. NaN counts as infinite.
struct Largest {
  double element = 0;
  const TensorSpec* tensor = nullptr;
  std::int64_t batch = 0, head = 0;
};

std::string text_of(const Largest& largest) {
  return fmt::format("{:.2g} ('{}', batch {}, head {})", largest.element, largest.tensor->name, largest.batch,
                     largest.head);
}

bool is_looked_at(rec::RecurrenceOp recurrence, const TensorSpec& spec) {
  if (spec.role == Role::output_gradient) return true;
  return spec.role == Role::input && !decays(draw_of(recurrence, spec.name).distribution);
}

// Of each sequence and head of a tensor of tokens.
std::vector<Largest> largest_in(const TensorSpec& spec, const HostTensor& tensor, const Rows& rows) {
  const auto heads = static_cast<std::int64_t>(rows.heads()), tokens = tensor.shape()[1];
  std::vector<Largest> found(static_cast<std::size_t>(tensor.shape()[0] * heads));
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i / rows.length());
    const std::int64_t batch = row / (heads * tokens), head = row % heads;
    Largest& largest = found[static_cast<std::size_t>(batch * heads + head)];
    const double element = std::abs(tensor.get(i));
    largest = {std::max(largest.element, std::isnan(element) ? HUGE_VAL : element), &spec, batch, head};
  }
  return found;
}

}  // namespace

std::string magnitudes_text(rec::RecurrenceOp recurrence, const Manifest& manifest, const Case& given) {
  std::vector<Largest> all;
  for (const TensorSpec& spec : manifest.tensors) {
    const auto tensor = given.tensors.find(spec.name);
    if (tensor == given.tensors.end() || !is_looked_at(recurrence, spec)) continue;
    std::ranges::move(largest_in(spec, tensor->second, Rows(spec, manifest, given.size)), std::back_inserter(all));
  }
  if (all.empty()) return "there are no numbers";
  const auto [least, most] = std::ranges::minmax_element(all, {}, &Largest::element);
  return fmt::format("the largest |element| of a head goes from {} to {}", text_of(*least), text_of(*most));
}

}  // namespace wkvc
