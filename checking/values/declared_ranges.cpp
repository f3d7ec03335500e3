#include "checking/values/declared_ranges.h"

#include <fmt/format.h>

#include <algorithm>

#include "checking/output.h"
#include "checking/reference/rows.h"
#include "checking/values/case_file.h"
#include "llvm/ADT/SmallVector.h"

namespace wkvc {
namespace {

void narrow(rec::Interval& range, std::optional<llvm::ArrayRef<double>> declared) {
  if (!declared) return;
  range = {std::max(range.lo, (*declared)[0]), std::min(range.hi, (*declared)[1])};
}

rec::Interval range_from(mlir::Value tensor, std::optional<llvm::ArrayRef<double>> at_declaration) {
  rec::Interval range;
  narrow(range, at_declaration);
  llvm::SmallVector<mlir::Value> pending{tensor};
  while (!pending.empty()) {
    for (mlir::Operation* user : pending.pop_back_val().getUsers()) {
      if (!is_declaration(user)) continue;
      if (auto assume = llvm::dyn_cast<rec::AssumeOp>(user)) narrow(range, assume.getRange());
      pending.push_back(user->getResult(0));
    }
  }
  return range;
}

// A bound as the tensor stores it: a value that was clamped before it was stored is within.
double stored(double bound, DType dtype) {
  HostTensor one(dtype, {1});
  one.set(0, bound);
  return one.get(0);
}

// Returns what to say of a tensor's elements beyond `range`; empty where there are none. NaN lies in no range.
std::string beyond(const TensorSpec& spec, const HostTensor& tensor, const rec::Interval& range, const Rows& rows) {
  const double lo = stored(range.lo, tensor.dtype()), hi = stored(range.hi, tensor.dtype());
  std::size_t count = 0, first = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    if (lo <= tensor.get(i) && tensor.get(i) <= hi) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return "";
  return fmt::format(
      "{} of {} elements of '{}' lie beyond its declared range, {} to {}, the first at {}: {}; kernels may be wrong "
      "there: keep '{}' within the range, or declare a wider one",
      count, tensor.size(), spec.name, range.lo, range.hi, text_of(rows.place(first / rows.length())),
      tensor.get(first), spec.name);
}

template <class Op>
void complain_of(rec::RecurrenceOp recurrence, const Manifest& manifest, const Case& given,
                 const std::filesystem::path& path) {
  for (auto op : recurrence.getBody().getOps<Op>()) {
    const rec::Interval range = declared_range(op);
    const auto spec = std::ranges::find(manifest.tensors, op.getName().str(), &TensorSpec::name);
    if (range == rec::Interval() || spec == manifest.tensors.end() || !given.tensors.contains(spec->name)) continue;
    const std::string text = beyond(*spec, given.tensors.at(spec->name), range, Rows(*spec, manifest, given.size));
    if (!text.empty()) complain(fmt::format("{}: {}", path.string(), text).c_str());
  }
}

}  // namespace

bool is_declaration(mlir::Operation* op) { return llvm::isa<rec::CastOp, rec::AssumeOp>(op); }

rec::Interval declared_range(rec::InputOp op) { return range_from(op.getResult(), op.getRange()); }
rec::Interval declared_range(rec::ParameterOp op) { return range_from(op.getResult(), op.getRange()); }

void complain_of_ranges(rec::RecurrenceOp recurrence, const Manifest& manifest, const Case& given,
                        const std::filesystem::path& path) {
  complain_of<rec::InputOp>(recurrence, manifest, given, path);
  complain_of<rec::ParameterOp>(recurrence, manifest, given, path);
}

Case case_of_user(rec::RecurrenceOp recurrence, const Manifest& manifest, SafetensorsFile& file) {
  Case given = case_from_file(manifest, file);
  complain_of_unused(given, manifest, file.path);
  complain_of_ranges(recurrence, manifest, given, file.path);
  return given;
}

}  // namespace wkvc
