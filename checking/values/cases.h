// Tensors that kernels are run on: drawn at random, or from a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checking/values/sequences.h"
#include "codegen/rec/Rec.h"
#include "runtime/launch/launch_size.h"
#include "runtime/manifest/manifest.h"
#include "runtime/tensor/safetensors.h"

namespace wkvc {

// Everything that kernels take and give, by the manifest's names, stored in its dtypes; not what they keep for each
// other.
struct Case {
  LaunchSize size;    // its maps point to `sequences`
  TensorMap tensors;  // results hold NaN until kernels have run; a missing state, or its gradient, is zero
  std::vector<std::string> unused =
      {};  // names in the file, escaped, that are neither given to the kernels nor results
  std::shared_ptr<const Sequences> sequences = nullptr;
};

// Random tensors, the initial state among them. What is drawn follows from how the recurrence uses a tensor, never
// from its name, so that no state grows without bound:
// - what does nothing but decay the state: x uniform in [-6, -1] where activations lie between it and the decay's
//   logarithm, else -exp(x) for the logarithm itself, exp(-exp(x)) for the factor itself;
// - b of a term outer(dot(S, a), b): -a times uniform in [0, 1], so that the term takes away from what a reads;
// - other vectors over keys: normal, divided by their norm, as layers do where the state forgets what it has under a
//   key;
// - other scalars of a token: uniform in [0, 1];
// - vectors over values, parameters, initial states and gradients: normal.
// A definition may say another distribution (codegen/rec/Drawn.h). A declared range bounds what is drawn. With
// `steep_too` decays that have such a range are drawn from all of it in every eighth element of a row and, by chance,
// in one of eight others: uniform, but logarithms by their magnitude from 0.37 on. These go down to -128, whose
// exponential is 0 in f32. Where one number decays the whole state they go down to -7: below, unit vectors times such
// decays are no normal numbers of f16, and make the initial state's gradient.
enum class Decays { mild, steep_too };
Case random_case(rec::RecurrenceOp recurrence, const Manifest& manifest, LaunchSize size, std::uint64_t seed,
                 Decays decays = Decays::mild);

// One line to the standard error where the file holds tensors that nothing uses: the name of one that may be missing
// could be misspelt.
void complain_of_unused(const Case& given, const Manifest& manifest, const std::filesystem::path& path);

// Throws UserError unless the file's tensor has this shape.
void expect_shape(const SafetensorsFile& file, const TensorSpec& spec, const HostTensor& tensor,
                  const std::vector<std::int64_t>& expected);

}  // namespace wkvc
