#include "tests/autotune/samples.h"

#include "runtime/base/hash.h"

#include <array>

namespace wkvc {

Config settings(int chunk, int save_every, const std::string& saved, const std::string& mma, int blocks) {
  return {.mma = mma, .chunk = chunk, .blocks = blocks, .save_every = save_every, .saved = saved};
}

LockEntry sample_entry(LaunchSize size) {
  LockEntry entry;
  entry.shape_class = {"rwkv7", "both", DType::bf16, 64, 64, "any", size};
  entry.gpu = h200;
  entry.recurrence = hex_hash("rec.recurrence @rwkv7");
  entry.config = settings(16, 32, "f16", "bf16", 2);
  entry.ms = 4.451234567;
  entry.ratio_to_copy = 2.514;
  entry.errors = {{"dr", {1.68e-3, 2e-3}}, {"o", {1.70123456e-3, 1.8e-3}}};
  entry.evidence = {"0.1.0", "13.0", "580.95.05", "2026-11-21T19:30:00Z", 96, 7, hex_hash("outputs")};
  return entry;
}

Lockfile with(const std::vector<LockEntry>& entries) {
  Lockfile lockfile;
  for (const LockEntry& entry : entries) lockfile.merge(entry);
  return lockfile;
}

Candidate sample_candidate(int chunk, double ms) {
  Candidate candidate;
  candidate.config = settings(chunk, chunk, "f16");
  candidate.size = {8, 4096, 64};
  candidate.ms = ms;
  candidate.predicted_ms = 0.9 * ms;
  candidate.errors = {{"dr", {1.68e-3, 2e-3}}, {"o", {1.70e-3, 1.8e-3}}};
  candidate.outputs = hex_hash("outputs");
  candidate.use = KernelUse{98304, 168, 0, 2};
  return candidate;
}

namespace {

constexpr std::array<const char*, 3> operands{"", "bf16", "f32"}, storage{"", "f16", "bf16"};

// From a and b, not quite at random: the same on every machine.
double noise(int a, int b) { return static_cast<double>((a * 7919 + b * 104729) % 1000) / 1000; }

Candidate nth_candidate(int i) {
  const int chunk = 16 << (i % 3), blocks = 1 + i / 27 % 4;
  Candidate it;
  it.config = settings(chunk, chunk * (1 + i / 9 % 3), storage[i / 3 % 3], operands[i % 7 % 3], blocks);
  it.size = {8, 4096, 64};
  it.use =
      KernelUse{1024 * (40 + 2 * chunk) + 512 * (i % 5), 96 + 8 * (i % 20), i % 11 == 0 ? 64 * (i % 4) : 0, blocks};
  it.predicted_ms = 3.5 + 3 * noise(i, 1) + 0.02 * chunk;
  const bool exact = it.config.mma == "f32";
  const double scale = exact ? 1e-3 : it.config.mma == "bf16" ? 1.6 : 1;
  const Accuracy error{scale * (1.66e-3 + 1e-4 * noise(i, 2)), exact ? 2e-5 : it.config.mma == "bf16" ? 4.5e-3 : 2e-3};
  it.errors = {{"dr", error}, {"o", {0.9 * error.error, error.bound}}};
  it.ms = 4.4 + 4 * noise(i, 3) + (exact ? 4 : 0) + 0.02 * chunk;
  return it;
}

void reject(Candidate& it, Outcome outcome, const char* reason) {
  it.outcome = outcome;
  it.reason = reason;
  it.ms.reset();
  it.errors.clear();
}

}  // namespace

ShapeReport sample_report(int candidates) {
  ShapeReport report;
  report.shape_class = sample_entry().shape_class;
  report.copy_ms = 1.77;
  for (int i = 0; i < candidates; ++i) {
    Candidate it = nth_candidate(i);
    if (i % 8 == 5) reject(it, Outcome::rejected, "needs 236032 bytes of shared memory, a block can have 232448");
    if (i % 13 == 7) reject(it, Outcome::skipped, "the model expects at least twice the best time so far");
    if (i % 13 == 7) it.use.reset();
    report.candidates.push_back(it);
  }
  report.winner = timed(report).front()->config;
  report.untuned = timed(report)[timed(report).size() / 3]->config;
  return report;
}

RunFacts sample_facts() { return {"rwkv7 both", h200, sample_entry().evidence}; }

}  // namespace wkvc
