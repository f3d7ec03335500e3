// Gradients that the compiler refuses: of names that no input has, and where a gradient's name is taken.
#include "dsl/builtin.h"
#include "tests/lower/faulty.h"

namespace wkvc::test {
namespace {

Config backward(std::vector<std::string> gradients = {}) {
  Config config;
  config.pass = "both";
  config.gradients = std::move(gradients);
  return config;
}

// Inputs k (K) and one more of that name (K), a parameter u (K), v (V), a state S.
Definition with_input(const std::string& name) {
  return recurrence("twice", [name](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(16);
    op.compute(f16);
    auto k = op.input("k", K, f32), more = op.input(name, K, f32), u = op.parameter("u", K, f32);
    auto v = op.input("v", V, f32);
    auto S = op.state("S", V, K, f32);
    op.update(S, S + outer(v, k * u));
    op.output("o", dot(S, more), f32);
  });
}

TEST(Gradients, AreOfWhatThereIs) {
  expect_contains(error_of(rwkv6(), backward({"r", "z"})),
                  "--grad: 'rwkv6' has no input or parameter 'z'; there are r, w, k, v, u");
  expect_contains(error_of(rwkv6(), backward({"o"})), "has no input or parameter 'o'");
  expect_contains(error_of(rwkv6(), backward({""})), "expected names such as r,w,k");
}

TEST(Gradients, HaveNamesOfTheirOwn) {
  for (const auto& [name, of] : {std::pair{"dk", "the gradient of 'k'"},
                                 {"du", "the gradient of 'u'"},
                                 {"du_parts", "the gradient of 'u' before it is summed"},
                                 {"dS", "the gradient of 'S'"},
                                 {"dfinal_state", "the gradient of the final state"},
                                 {"dinitial_state", "the gradient of the initial state"},
                                 {"saved_states", "the states that the forward pass saves"}}) {
    EXPECT_NO_THROW(chunk_text(with_input(name))) << name;
    expect_contains(error_of(with_input(name), backward()),
                    "'twice' has '" + std::string(name) + "', which is the name of " + of + ": choose another");
  }
}

// A gradient that nobody asks for takes no name.
TEST(Gradients, ThatAreNotWantedTakeNoNames) {
  EXPECT_NO_THROW(chunk_text(with_input("dk"), backward({"dk", "v"})));
  EXPECT_NO_THROW(chunk_text(with_input("du_parts"), backward({"k"})));
}

}  // namespace
}  // namespace wkvc::test
