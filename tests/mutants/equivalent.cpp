#include "tests/mutants/equivalent.h"

#include <algorithm>

namespace wkvc::test {
namespace {

const std::string kBarrier = "block.barrier();";

// Returns the position of the first character that differs.
std::size_t place_of(const std::string& kernel, const Mutant& mutant) {
  return static_cast<std::size_t>(std::ranges::mismatch(kernel, mutant.text).in1 - kernel.begin());
}

// Whether the mutant is the kernel without the line of position `at`.
bool lacks_line(const std::string& kernel, const Mutant& mutant, std::size_t at) {
  return at != kernel.npos &&
         mutant.text == kernel.substr(0, kernel.rfind('\n', at)) + kernel.substr(kernel.find('\n', at));
}

// The ring that a mutant reads another slot of has but one.
bool has_one_slot(const std::string& kernel, const Mutant& mutant) {
  std::smatch ring;
  return std::regex_search(mutant.name, ring, std::regex("= (\\w+_ring)\\[c\\]")) &&
         std::regex_search(kernel, std::regex("Ring<\\w+, \\d+, \\d+, 1(, Exchanged)?> " + ring[1].str() + "\\{"));
}

// The mutant's copies are told which tensors they are of, and find the head when they start.
bool takes_no_head(const std::string& kernel, const Mutant& mutant) {
  std::smatch copies;
  return std::regex_search(mutant.name, copies, std::regex("(copies\\w*)\\.take<")) &&
         std::regex_search(kernel, std::regex("Copies<[^;\n]*, false> " + copies[1].str() + ";"));
}

// Rows past the tail are told from others for running sums of decays alone.
bool keeps_decays_alone(const std::string& kernel, const Mutant&) {
  return !std::regex_search(kernel, std::regex("auto (?!log_w_valid)\\w+ = keep_rows\\("));
}

// Nobody reads the number of rows that the mutant declares.
bool declares_for_nobody(const std::string& kernel, const Mutant& mutant) {
  const std::string rest = kernel.substr(kernel.find('\n', place_of(kernel, mutant)));
  const std::string scope = rest.substr(0, rest.find("const int valid ="));
  return !std::regex_search(scope, std::regex("\\bvalid\\b"));
}

bool is_forward_summary(const std::string& kernel, const Mutant&) {
  return kernel.find("_forward_summary") < kernel.find(',');
}

// Whether the kernel does what another one refused.
bool has_scales(const std::string& kernel, const Mutant&) { return kernel.find("_scaled") < kernel.find(','); }

// In a loop that recomputes states from a saved one.
bool is_recomputed(const std::string& kernel, const Mutant& mutant) {
  const std::string before = kernel.substr(0, place_of(kernel, mutant));
  const std::size_t loop = before.rfind("for (int c "), again = before.find("// through the round before");
  return (loop != before.npos && before.substr(loop).starts_with("for (int c = first; c < last; ++c)")) ||
         (again != before.npos && before.find("// Each team prepares", again) == before.npos);
}

bool is_in_left_out_round(const std::string& kernel, const Mutant& mutant) {
  const std::size_t round = kernel.find("if (guard.leaves_out<Slots>(first))");
  return round != kernel.npos && lacks_line(kernel, mutant, kernel.find("wait_copies<0>();", round));
}

bool is_before_sums(const std::string& kernel, const Mutant& mutant) {
  const std::size_t last = kernel.rfind("\n  " + kBarrier);
  return kernel.find("_parts_global") != kernel.npos && last != kernel.npos && lacks_line(kernel, mutant, last + 1);
}

bool is_before_gradients(const std::string& kernel, const Mutant& mutant) {
  const std::size_t gradients = kernel.find("// Backward through the group.");
  return gradients != kernel.npos && lacks_line(kernel, mutant, kernel.find(kBarrier, gradients));
}

bool is_after_recomputing(const std::string& kernel, const Mutant& mutant) {
  const std::size_t again = kernel.find("// through the round before");
  return again != kernel.npos &&
         lacks_line(kernel, mutant, kernel.rfind(kBarrier, kernel.find("// Each team prepares", again)));
}

}  // namespace

const std::vector<Reason> kEquivalent = {
    {std::regex("^(inputs of )?another batch: "), "there is one batch"},
    {std::regex(
         "^call dropped: (team|slot)\\.|^call dropped: (wait_copies|commit_copies|block\\.(barrier|cluster|lower))"),
     "one order of warps does without; kDeletedSync deletes such where races are reported"},
    {std::regex("^call dropped: block\\.before_async_reads"), "the host has no other proxy"},
    {std::regex("^another head: .*(is_refused|largest_of_sample|backward_summary_refused)"),
     "kernels with scales do both heads, and samples and gradients of both are alike"},
    {std::regex("^inputs of another head: "), "copies find the head when they start", takes_no_head},
    {std::regex("\\bsaved_AK_(rows|global)\\b"),
     "only the plain backward kernel reads it, which refuses all that the plain forward kernel refuses", has_scales},
    {std::regex("^next chunk's slot: "), "that ring has one slot", has_one_slot},
    {std::regex("store_scale\\(\\w*(slope|intercept)_number"), "a state may keep its scale for longer"},
    {std::regex("^measured scale 1: store\\(M_lower_f16x2|^tile's scale 1: const float (saved_)?M_scale"),
     "the inverse's elements fit f16 without a scale"},
    {std::regex("^tail kept: .*log_w_valid"), "rows past the tail meet operands that are zero there"},
    {std::regex("^tail kept: const auto dlog_w = "), "rows past the tail are not stored"},
    {std::regex("^middle row: "), "any row serves as anchor: it cancels"},
    {std::regex("^last chunk (dropped|full): "), "warps of the state need no number of rows", declares_for_nobody},
    {std::regex("^last chunk full: "), "other rows past the tail are zero, and stores have a number of their own",
     keeps_decays_alone},
    {std::regex("^(last chunk (dropped|full)|tail kept|read past the tail): "),
     "chunks that are recomputed lie before the last one", is_recomputed},
    {std::regex("^(last chunk (dropped|full)|tail kept|read past the tail): "),
     "the last segment, which has the tail, has no summary", is_forward_summary},
    {std::regex("^call dropped: block\\.(give|take)_registers<"), "warps of the host have registers enough"},
    {std::regex("^reader's scale 1: const auto r_(level\\d_k_level\\d|k) = product_nt"),
     "the first term of a sum has its scale"},
    {std::regex("^wait_copies<\\\\d\\+> deleted: "), "no copy follows a round that is left out", is_in_left_out_round},
    {std::regex("^block\\\\.barrier deleted: "), "all warps met after the last sum over a slot", is_before_sums},
    {std::regex("^block\\\\.barrier deleted: "), "the memory of both loops lies apart", is_before_gradients},
    {std::regex("^block\\\\.barrier deleted: "), "the memory of both loops lies apart", is_after_recomputing},
};

bool is_for(const Reason& reason, const std::string& kernel, const Mutant& mutant) {
  return std::regex_search(mutant.name, reason.names) && reason.holds(kernel, mutant);
}

}  // namespace wkvc::test
