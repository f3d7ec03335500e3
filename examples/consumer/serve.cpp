// A server's loop: continuous batching of prompts and single tokens, with all states in one pool. The kernels run on
// the CPU, so that the program runs anywhere; with Target::cuda all memory is the GPU's, and the loop is the same.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "jit/jit.h"
#include "runtime/error.h"

namespace {

constexpr int kVocabulary = 50, kHeads = 2, kHead = 32, kWidth = kHeads * kHead;

using Tokens = std::vector<int>;
using Output = std::vector<float>;  // [heads, values] of a token

struct Request {
  Tokens prompt;
  std::size_t wanted;  // tokens to generate
  std::int32_t slot = -1;
  Tokens tokens = {};  // that were generated
  std::vector<Output> outputs = {};

  bool is_done() const { return tokens.size() == wanted; }
};

// One layer, in which each token of the vocabulary has its own r, w, k, v, a and b.
class Model {
 public:
  Model() {
    std::mt19937 random(0);
    std::normal_distribution<float> normal(0, 0.15F);
    for (auto& table : tables_)
      for (float& x : table) x = normal(random);
    for (std::size_t i = 0; i < tables_[4].size(); ++i)
      tables_[5][i] = -tables_[4][i] / 2;  // b takes from what a reads
  }

  // Takes the states of a pool [slots, H, 32, 32] through tokens and returns the outputs [tokens, H, 32].
  std::vector<Output> run(const wkvc::Operator& op, const Tokens& tokens, wkvc::LaunchSize size,
                          wkvc::Tensor pool) const {
    std::array<wkvc::HostTensor, 6> inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = rows(i, tokens, size);
    wkvc::HostTensor o(wkvc::DType::f32, {size.batches, size.tokens, kHeads, kHead});
    std::vector<wkvc::Tensor> tensors;
    for (const wkvc::TensorSpec& spec : op.tensors(wkvc::Direction::forward)) {
      const std::size_t input = std::string("rwkvab").find(spec.name);
      tensors.push_back(spec.name == "o" ? o.view() : input < inputs.size() ? inputs[input].view() : pool);
    }
    op.launch(wkvc::Direction::forward, tensors, size);
    std::vector<Output> outputs(tokens.size(), Output(kWidth));
    for (std::size_t i = 0; i < o.size(); ++i) outputs[i / kWidth][i % kWidth] = static_cast<float>(o.get(i));
    return outputs;
  }

 private:
  wkvc::HostTensor rows(std::size_t table, const Tokens& tokens, const wkvc::LaunchSize& size) const {
    wkvc::HostTensor x(wkvc::DType::f32, {size.batches, size.tokens, kHeads, kHead});
    for (std::size_t i = 0; i < x.size(); ++i) {
      x.set(i, tables_[table][static_cast<std::size_t>(tokens[i / kWidth]) * kWidth + i % kWidth]);
    }
    return x;
  }

  std::array<std::array<float, kVocabulary * kWidth>, 6> tables_{};
};

class Server {
 public:
  Server(const Model& model, std::int64_t slots)
      : model_(model), pool_(wkvc::DType::f32, {slots, kHeads, kHead, kHead}) {
    for (std::int64_t slot = 0; slot < slots; ++slot) free_.push_back(static_cast<std::int32_t>(slot));
  }

  void run(std::vector<Request>& requests) {
    for (auto request = requests.rbegin(); request != requests.rend(); ++request) waiting_.push_back(&*request);
    while (!waiting_.empty() || !running_.empty()) {
      decode();
      admit();
      release();
    }
  }

 private:
  // One token of each running sequence.
  void decode() {
    if (running_.empty()) return;
    Tokens last;
    for (const Request* request : running_) last.push_back(request->tokens.back());
    const std::vector<std::int32_t> slots = slots_of(running_);
    const wkvc::LaunchSize size{.batches = count(running_), .tokens = 1, .heads = kHeads, .slots = map_of(slots)};
    const std::vector<Output> outputs = model_.run(*single_tokens_, last, size, pool_.view());
    for (std::size_t n = 0; n < running_.size(); ++n) append(*running_[n], outputs[n]);
  }

  // As many prompts as there are free slots, one behind the other in one batch.
  void admit() {
    std::vector<Request*> admitted;
    std::vector<std::int64_t> starts{0};
    Tokens packed;
    for (; !free_.empty() && !waiting_.empty(); waiting_.pop_back(), free_.pop_back()) {
      Request& request = *waiting_.back();
      request.slot = free_.back();
      clear(request.slot);
      packed.insert(packed.end(), request.prompt.begin(), request.prompt.end());
      starts.push_back(static_cast<std::int64_t>(packed.size()));
      admitted.push_back(&request);
    }
    if (admitted.empty()) return;
    const std::vector<std::int32_t> slots = slots_of(admitted);
    const wkvc::LaunchSize size{.batches = 1,
                                .tokens = starts.back(),
                                .heads = kHeads,
                                .map = wkvc::SequenceMap{count(admitted), starts.data(), /*wide=*/true},
                                .slots = map_of(slots)};
    const std::vector<Output> outputs = model_.run(*prompts_, packed, size, pool_.view());
    for (std::size_t n = 0; n < admitted.size(); ++n) {
      append(*admitted[n], outputs[static_cast<std::size_t>(starts[n + 1] - 1)]);
    }
    running_.insert(running_.end(), admitted.begin(), admitted.end());
  }

  void release() {
    for (const Request* request : running_) {
      if (request->is_done()) free_.push_back(request->slot);
    }
    std::erase_if(running_, [](const Request* request) { return request->is_done(); });
  }

  // The next token is the number of the largest output.
  static void append(Request& request, const Output& output) {
    request.tokens.push_back(static_cast<int>(std::ranges::max_element(output) - output.begin()) % kVocabulary);
    request.outputs.push_back(output);
  }

  // The slot may have the state of a sequence that has finished.
  void clear(std::int32_t slot) {
    const auto bytes = pool_.bytes();
    const std::size_t state = bytes.size() / static_cast<std::size_t>(pool_.shape()[0]);
    std::memset(bytes.data() + static_cast<std::size_t>(slot) * state, 0, state);
  }

  static std::vector<std::int32_t> slots_of(const std::vector<Request*>& requests) {
    std::vector<std::int32_t> slots;
    for (const Request* request : requests) slots.push_back(request->slot);
    return slots;
  }
  wkvc::SlotMap map_of(const std::vector<std::int32_t>& slots) const { return {pool_.shape()[0], slots.data()}; }
  static std::int64_t count(const std::vector<Request*>& requests) {
    return static_cast<std::int64_t>(requests.size());
  }

  static wkvc::Config config(int chunk) {
    return {.key_dim = kHead, .value_dim = kHead, .io = "f32", .mma = "f32", .chunk = chunk};
  }

  const Model& model_;
  std::shared_ptr<const wkvc::Operator> prompts_ = wkvc::prepare("rwkv7", config(16), {wkvc::Target::host}),
                                        single_tokens_ = wkvc::prepare("rwkv7", config(1), {wkvc::Target::host});
  wkvc::HostTensor pool_;
  std::vector<std::int32_t> free_;
  std::vector<Request*> waiting_, running_;  // the next one that waits comes last
};

std::vector<Request> requests() {
  std::vector<Request> all;
  std::mt19937 random(1);
  for (const auto& [prompt, wanted] :
       std::vector<std::pair<int, std::size_t>>{{7, 5}, {33, 2}, {1, 9}, {18, 4}, {4, 1}, {50, 6}, {16, 3}}) {
    Request& request = all.emplace_back(Request{{}, wanted});
    for (int i = 0; i < prompt; ++i) request.prompt.push_back(static_cast<int>(random() % kVocabulary));
  }
  return all;
}

}  // namespace

int main() {
  try {
    const Model model;
    std::vector<Request> together = requests(), alone = requests();
    Server(model, /*slots=*/3).run(together);
    for (std::size_t n = 0; n < alone.size(); ++n) {
      std::vector<Request> one{alone[n]};
      Server(model, /*slots=*/1).run(one);
      const bool equal = one[0].outputs == together[n].outputs;
      std::printf("sequence %zu: %zu tokens, answer of %zu; %s\n", n, together[n].prompt.size(),
                  together[n].tokens.size(), equal ? "as alone" : "NOT as alone");
      if (!equal) return 1;
    }
    return 0;
  } catch (const wkvc::UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
