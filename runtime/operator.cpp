#include "runtime/operator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/error.h"
#include "runtime/tensor/checked.h"

namespace wkvc {
namespace {

constexpr std::int64_t alignment = 256;      // bytes, of every tensor in the workspace
constexpr std::int64_t host_alignment = 64;  // of a workspace on the host, as its allocators give it

std::vector<TensorSpec> internals_of(const Manifest& manifest) {
  std::vector<TensorSpec> specs;
  for (const TensorSpec& spec : manifest.tensors) {
    if (is_internal(spec.role)) specs.push_back(spec);
  }
  std::ranges::stable_partition(specs, is_between_passes, &TensorSpec::role);
  return specs;
}

// Bytes of a tensor in the workspace, rounded up to where the next one may begin.
CheckedInt padded_bytes(const TensorSpec& spec, const Manifest& manifest, LaunchSize size) {
  const CheckedInt padded = checked_add(byte_count(spec.dtype, shape_of(spec, manifest, size)), alignment - 1);
  return padded ? CheckedInt(*padded / alignment * alignment) : padded;
}

Tensor contiguous(void* data, const TensorSpec& spec, const Manifest& manifest, LaunchSize size) {
  const Extents shape = shape_of(spec, manifest, size);
  return {data, spec.dtype, shape, contiguous_strides(shape)};
}

const char* name_of(Direction pass) { return pass == Direction::forward ? "forward" : "backward"; }

void check_count(Direction pass, std::size_t expected, std::size_t given) {
  if (given == expected) return;
  user_error("the {} pass takes {} tensors, and {} were given: pass Tensor{{}} for what is left out", name_of(pass),
             expected, given);
}

void check_workspace(const void* workspace, std::int64_t bytes, Target target) {
  if (bytes == 0) return;
  if (workspace == nullptr) user_error("the workspace is null, but {} bytes are needed (workspace_bytes)", bytes);
  const std::int64_t needed = target == Target::host ? host_alignment : alignment;
  if (reinterpret_cast<std::uintptr_t>(workspace) % static_cast<std::uintptr_t>(needed) == 0) return;
  user_error("the workspace begins at {}, which is not a multiple of {} bytes", fmt::ptr(workspace), needed);
}

}  // namespace

Operator::Pass::Pass(Program whole, std::span<const TensorSpec> internals) : program(std::move(whole)) {
  for (const TensorSpec& spec : program.manifest().tensors) {
    if (!is_internal(spec.role)) given.push_back(spec);
    const auto found = std::ranges::find(internals, spec.name, &TensorSpec::name);
    internal.push_back(static_cast<std::size_t>(found - internals.begin()));
  }
}

Operator::Operator(const Program& program)
    : manifest_(program.manifest()), target_(program.target()), internals_(internals_of(manifest_)) {
  saved_count_ = static_cast<std::size_t>(std::ranges::count_if(internals_, is_between_passes, &TensorSpec::role));
  if (manifest_.tensors.size() > max_tensors) {
    user_error("{} has {} tensors, at most {} are supported", manifest_.op, manifest_.tensors.size(), max_tensors);
  }
  if (program.has(Direction::forward)) forward_.emplace(program.only(Direction::forward), internals_);
  if (program.has(Direction::backward)) backward_.emplace(program.only(Direction::backward), internals_);
}

bool Operator::has(Direction pass) const {
  return pass == Direction::forward ? forward_.has_value() : backward_.has_value();
}

const Operator::Pass& Operator::pass(Direction direction) const {
  if (direction != Direction::forward && direction != Direction::backward) {
    user_error("the pass is {}; expected Direction::forward or Direction::backward", static_cast<int>(direction));
  }
  const std::optional<Pass>& found = direction == Direction::forward ? forward_ : backward_;
  if (!found) {
    user_error("{} was prepared without its {} pass: prepare it with --pass both", manifest_.op, name_of(direction));
  }
  return *found;
}

std::span<const TensorSpec> Operator::tensors(Direction direction) const { return pass(direction).given; }

std::int64_t Operator::workspace_bytes(LaunchSize size) const { return bytes_of(internals_, size); }

std::int64_t Operator::saved_bytes(LaunchSize size) const { return bytes_of(saved(), size); }

std::int64_t Operator::bytes_of(std::span<const TensorSpec> internals, LaunchSize size) const {
  check_size(size, manifest_.head_blocks());
  CheckedInt bytes = 0;
  for (const TensorSpec& spec : internals) {
    const CheckedInt padded = padded_bytes(spec, manifest_, size);
    bytes = padded ? checked_add(bytes, *padded) : padded;
  }
  if (bytes) return *bytes;
  user_error("B, T, H = {}, {}, {}: what the kernels keep for each other exceeds 63 bits", size.batches, size.tokens,
             size.heads);
}

void Operator::launch(Direction direction, std::span<const Tensor> tensors, LaunchSize size, void* workspace,
                      StreamHandle stream, Checks checks) const {
  static_cast<void>(pass(direction));  // there is one
  check_workspace(workspace, workspace_bytes(size), target_);
  auto* const scratch = workspace == nullptr ? nullptr : static_cast<std::byte*>(workspace) + saved_bytes(size);
  launch(direction, tensors, size, Workspace{workspace, scratch}, stream, checks);
}

void Operator::launch(Direction direction, std::span<const Tensor> tensors, LaunchSize size, Workspace workspace,
                      StreamHandle stream, Checks checks) const {
  const Pass& pass = this->pass(direction);
  check_count(direction, pass.given.size(), tensors.size());
  const std::int64_t saved = saved_bytes(size);
  check_workspace(workspace.saved, saved, target_);
  check_workspace(workspace.scratch, workspace_bytes(size) - saved, target_);
  std::array<std::byte*, max_tensors> places{};  // of the internals in the workspace
  auto* next = static_cast<std::byte*>(workspace.saved);
  for (std::size_t i = 0; i < internals_.size(); ++i) {
    if (i == saved_count_) next = static_cast<std::byte*>(workspace.scratch);
    places[i] = next;
    if (next != nullptr) next += *padded_bytes(internals_[i], manifest_, size);
  }
  std::array<Tensor, max_tensors> all;
  const std::size_t count = pass.internal.size();
  for (std::size_t i = 0, given = 0; i < count; ++i) {
    const std::size_t internal = pass.internal[i];
    all[i] = internal < internals_.size() ? contiguous(places[internal], internals_[internal], manifest_, size)
                                          : tensors[given++];
  }
  pass.program.launch(std::span<const Tensor>(all).first(count), size, stream, checks);
}

}  // namespace wkvc
