// Tensors for tiny_program, and what it should make of them.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "runtime/launch/launch_size.h"
#include "runtime/tensor/safetensors.h"

namespace wkvc {

struct TinyTraining {
  explicit TinyTraining(LaunchSize given) : size(given) {
    const std::vector<std::int64_t> token{size.batches, size.tokens, size.heads, 8};
    const std::vector<std::int64_t> state{size.batches, size.heads, 8, 8}, parameter{size.heads, 8};
    for (const char* name : {"x", "do", "o", "dx"}) tensors.try_emplace(name, DType::f32, token);
    for (const char* name : {"initial_state", "final_state", "dfinal_state", "dinitial_state"}) {
      tensors.try_emplace(name, DType::f32, state);
    }
    for (const char* name : {"u", "du"}) tensors.try_emplace(name, DType::f32, parameter);
    double number = 0;
    for (auto& [name, tensor] : tensors) {
      tensor.poison();
      for (std::size_t i = 0; i < tensor.size() && is_given(name); ++i) tensor.set(i, std::sin(number += 1));
    }
  }

  static bool is_given(const std::string& name) {
    return name == "x" || name == "u" || name == "do" || name == "initial_state" || name == "dfinal_state";
  }

  double at(const std::string& name, std::size_t b, std::size_t h, std::size_t row, std::size_t k) const {
    const HostTensor& tensor = tensors.at(name);
    const auto heads = static_cast<std::size_t>(size.heads), tokens = static_cast<std::size_t>(size.tokens);
    if (tensor.shape().size() == 2) return tensor.get(h * 8 + k);
    const bool is_state = name.find("state") != std::string::npos;
    return tensor.get((is_state ? (b * heads + h) * 8 + row : (b * tokens + row) * heads + h) * 8 + k);
  }

  // Of one column k of one head: every result, in double. `du` is this batch's part.
  struct Column {
    std::vector<double> o, dx;
    double final_state = 0, du = 0, dinitial_state = 0;  // of row 0
  };
  Column expected(std::size_t b, std::size_t h, std::size_t k) const {
    const auto tokens = static_cast<std::size_t>(size.tokens);
    Column column{std::vector<double>(tokens), std::vector<double>(tokens)};
    std::vector<double> S(tokens + 1, at("initial_state", b, h, 0, k));
    for (std::size_t t = 0; t < tokens; ++t) {
      S[t + 1] = S[t] + at("x", b, h, t, k) * at("u", b, h, 0, k);
      column.o[t] = 0.5 * S[t + 1] * S[t + 1];
    }
    column.final_state = S[tokens];
    double others = 0;
    for (std::size_t v = 1; v < 8; ++v) others += at("dfinal_state", b, h, v, k);
    column.dinitial_state = at("dfinal_state", b, h, 0, k);
    for (std::size_t t = tokens; t-- > 0;) {
      column.dinitial_state += at("do", b, h, t, k) * S[t + 1];
      column.dx[t] = (column.dinitial_state + others) * at("u", b, h, 0, k);
      column.du += (column.dinitial_state + others) * at("x", b, h, t, k);
    }
    return column;
  }

  LaunchSize size;
  TensorMap tensors;
};

}  // namespace wkvc
