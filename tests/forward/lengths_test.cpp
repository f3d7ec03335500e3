// Sequences of every length and in pieces, and tensors wherever they may lie in memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/builtin.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

struct Case {
  Definition definition;
  Config config;
};

Case in_teams(Definition definition) {
  Config config{.key_dim = 32, .value_dim = 32, .io = "f32", .pass = "both", .save_every = 32, .scales = "always"};
  config.teams = config.backward_teams = 2;
  return {std::move(definition), config};
}
Case plain(Definition definition) {
  return {std::move(definition), {.key_dim = 32, .value_dim = 32, .io = "f32", .pass = "both", .save_every = 16}};
}
std::vector<Case> cases() { return {plain(rwkv7()), plain(rwkv6()), in_teams(rwkv7())}; }

Program program_of(const Case& of) { return Program::load(cuda_text(of.definition, of.config), Target::host); }

Problem problem_of(const Case& of, const Program& program, LaunchSize size) {
  return random_problem(program.manifest(), rec_text(of.definition, of.config), size, 3);
}

TEST(Sequences, OfEveryLength) {
  for (const Case& of : cases()) {
    const Program program = program_of(of);
    for (std::int64_t tokens = 1; tokens < 40; ++tokens) {
      const Problem problem = problem_of(of, program, {1, tokens, 1});
      for (const auto& [name, error] : run_and_compare(program, rec_text(of.definition, of.config), problem)) {
        const auto& specs = program.manifest().tensors;
        const Role role = std::ranges::find(specs, name, &TensorSpec::name)->role;
        EXPECT_LE(error, bound_of(of.config, role)) << of.definition.name << ", T " << tokens << ": " << name;
      }
    }
  }
}

//===- Pieces ----------------------------------------------------------------------------------------------------===//

bool has_tokens(const TensorSpec& spec) {
  return !is_internal(spec.role) && spec.dims.size() > 1 && spec.dims[1] == "T";
}
bool is_given(const TensorSpec& spec) { return !is_result(spec.role) && !is_internal(spec.role); }

// The results of tokens `first` to before `last` of a problem of one batch, from and to these states.
Values run_piece(const Program& program, const Problem& whole, std::int64_t first, std::int64_t last,
                 const std::vector<double>& state, const std::vector<double>& state_gradient) {
  const Manifest& manifest = program.manifest();
  Problem piece{{1, last - first, whole.size.heads}, {}, Storage::tokens_first, {}};
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_given(spec)) continue;
    auto values = whole.values.at(spec.name);
    if (spec.role == Role::initial_state) values = state;
    if (spec.role == Role::final_state_gradient) values = state_gradient;
    const auto token = static_cast<std::ptrdiff_t>(values.size()) / whole.size.tokens;
    if (has_tokens(spec)) values = {values.begin() + first * token, values.begin() + last * token};
    piece.values[spec.name] = std::move(values);
  }
  const TensorMap memory = run_in_memory(program, piece);
  Values results;
  for (const TensorSpec& spec : manifest.tensors)
    if (is_result(spec.role)) results[spec.name] = read(memory.at(spec.name), layout_of(spec, manifest, piece.size));
  return results;
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// States go from piece to piece, gradients of states from the last piece back to the first.
TEST(Sequences, ChainFromPieceToPieceBothWays) {
  for (const Case& of : cases()) {
    const Program program = program_of(of);
    const Problem problem = problem_of(of, program, {1, 83, 2});
    const Manifest& manifest = program.manifest();
    const std::vector<std::int64_t> ends{0, 1, 17, 33, 50, 83};
    std::vector<std::vector<double>> states{problem.values.at("initial_state")};
    const auto& last_gradient = problem.values.at("dfinal_state");
    for (std::size_t i = 0; i + 2 < ends.size(); ++i)
      states.push_back(
          run_piece(program, problem, ends[i], ends[i + 1], states.back(), last_gradient).at("final_state"));
    std::vector<Values> pieces(states.size());
    std::vector<double> gradient = last_gradient;
    for (std::size_t i = states.size(); i-- > 0;) {
      pieces[i] = run_piece(program, problem, ends[i], ends[i + 1], states[i], gradient);
      gradient = pieces[i].at("dinitial_state");
    }
    const Values reference =
        reference_of(manifest, rec_text(of.definition, of.config), problem.size, rounded(manifest, problem));
    for (const TensorSpec& spec : manifest.tensors) {
      if (!is_result(spec.role) || spec.role == Role::parameter_gradient) continue;
      std::vector<double> all = spec.role == Role::final_state ? pieces.back().at(spec.name) : std::vector<double>();
      if (spec.role == Role::initial_state_gradient) all = pieces.front().at(spec.name);
      for (const Values& piece : pieces)
        if (has_tokens(spec)) append(all, piece.at(spec.name));
      EXPECT_LE(relative_error(all, reference.at(spec.name)), bound_of(of.config, spec.role))
          << of.definition.name << ": " << spec.name;
    }
  }
}

//===- Places in memory ------------------------------------------------------------------------------------------===//

// Address space of which only what is written takes memory.
class Reserved {
 public:
  explicit Reserved(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Reserved() {
    if (exists()) munmap(data_, bytes_);
  }
  Reserved(Reserved&& other) noexcept : bytes_(other.bytes_), data_(std::exchange(other.data_, MAP_FAILED)) {}
  Reserved& operator=(Reserved&&) = delete;

  bool exists() const { return data_ != MAP_FAILED; }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* data_;
};

constexpr std::size_t kGuard = 4096;  // bytes before and behind a tensor
constexpr std::byte kUntouched{0xa5};

struct Placed {
  Reserved memory;
  Layout layout;
  Tensor view;
};

Layout far_layout(const TensorSpec& spec, const Manifest& manifest, LaunchSize size, std::int64_t token,
                  std::int64_t head) {
  Layout layout;
  layout.shape = layout.stored = shape_of(spec, manifest, size);
  layout.strides = contiguous_strides(layout.shape);
  if (has_tokens(spec) && layout.shape.size() == 4) {
    layout.strides[1] = token;
    layout.strides[2] = head;
    layout.strides[0] = token * size.tokens + head * size.heads;
  }
  return layout;
}

Placed placed(const TensorSpec& spec, const Layout& layout) {
  const std::size_t bytes = (layout.place(layout.size() - 1) + 1) * size_of(spec.dtype);
  Placed result{Reserved(bytes + 2 * kGuard), layout, {}};
  if (!result.memory.exists()) return result;
  std::fill_n(result.memory.data(), kGuard, kUntouched);
  std::fill_n(result.memory.data() + kGuard + bytes, kGuard, kUntouched);
  result.view = layout.view({result.memory.data() + kGuard, spec.dtype, {}, {}});
  return result;
}

bool is_untouched(const Placed& tensor) {
  const auto untouched = [](const std::byte* from) {
    return std::all_of(from, from + kGuard, [](std::byte x) { return x == kUntouched; });
  };
  return untouched(tensor.memory.data()) && untouched(tensor.memory.data() + tensor.memory.bytes() - kGuard);
}

// Runs with rows of tensors [B,T,H,D] so many elements apart; the results are right, and nothing beside a tensor is
// written.
void check_at(const Case& of, LaunchSize size, std::int64_t token, std::int64_t head) {
  const Program program = program_of(of);
  const Manifest& manifest = program.manifest();
  const Problem problem = problem_of(of, program, size);
  std::map<std::string, Placed> memory;
  NamedTensors views;
  for (const TensorSpec& spec : manifest.tensors) {
    const Placed& at =
        memory.emplace(spec.name, placed(spec, far_layout(spec, manifest, size, token, head))).first->second;
    if (!at.memory.exists()) GTEST_SKIP() << "no address space of " << at.memory.bytes() << " bytes";
    views[spec.name] = at.view;
    if (is_given(spec))
      for (std::size_t i = 0; i < at.layout.size(); ++i)
        store_element(spec.dtype, static_cast<std::byte*>(at.view.data), at.layout.place(i),
                      problem.values.at(spec.name)[i]);
  }
  program.launch(views, size);
  const Values reference = reference_of(manifest, rec_text(of.definition, of.config), size, rounded(manifest, problem));
  for (const TensorSpec& spec : manifest.tensors) {
    const Placed& at = memory.at(spec.name);
    EXPECT_TRUE(is_untouched(at)) << of.definition.name << ": " << spec.name;
    if (!is_result(spec.role)) continue;
    std::vector<double> values(at.layout.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = load_element(spec.dtype, static_cast<std::byte*>(at.view.data), at.layout.place(i));
    EXPECT_LE(relative_error(values, reference.at(spec.name)), bound_of(of.config, spec.role))
        << of.definition.name << ": " << spec.name;
  }
}

TEST(Places, NothingBesideATensorIsWritten) {
  for (const Case& of : cases())
    for (const std::int64_t tokens : {1, 37, 64}) check_at(of, {2, tokens, 2}, 64, 32);
}

TEST(Places, HeadsBeyondTwoToThe31stElement) {
  for (const Case& of : cases()) check_at(of, {1, 37, 2}, 32, (std::int64_t{1} << 31) + 64);
}

TEST(Places, TokensBeyondTwoToThe31stElement) {
  for (const Case& of : cases()) check_at(of, {1, 140, 1}, (1 << 24) - 32, 32);
}

}  // namespace
}  // namespace wkvc::test
