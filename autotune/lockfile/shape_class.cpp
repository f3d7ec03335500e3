#include "autotune/lockfile/shape_class.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/tensor/checked.h"

namespace wkvc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 2> passes{"forward", "both"};
constexpr std::array<std::string_view, 5> accuracies{"f16", "bf16", "bf16x3", "f32", "any"};
constexpr std::array<std::string_view, 3> dtypes{"bf16", "f16", "f32"};

double apart(std::int64_t a, std::int64_t b) {
  const auto log = [](std::int64_t value) { return std::log2(static_cast<double>(std::max<std::int64_t>(value, 1))); };
  return std::abs(log(a) - log(b));
}

std::int64_t pairs(LaunchSize size) { return size.batches * size.heads; }

}  // namespace

bool same_kind(const ShapeClass& a, const ShapeClass& b) {
  ShapeClass resized = a;
  resized.size = b.size;
  return resized == b;
}

std::string text_of(LaunchSize size) { return fmt::format("{},{},{}", size.batches, size.tokens, size.heads); }

std::string text_of(const ShapeClass& shape_class) {
  return fmt::format("{} {} {}, head {}x{}, io {}, {}", shape_class.op, shape_class.pass, text_of(shape_class.size),
                     shape_class.key_dim, shape_class.value_dim, name_of(shape_class.io),
                     shape_class.accuracy == "any" ? "any mma within bound" : "mma " + shape_class.accuracy);
}

std::int64_t blocks_for_one_sm(LaunchSize size, int sm_count) {
  const std::int64_t blocks = pairs(size);
  return blocks / sm_count + (blocks % sm_count != 0 ? 1 : 0);
}

SizeDistance distance(LaunchSize a, int sm_count_of_a, LaunchSize b, int sm_count_of_b) {
  return {apart(blocks_for_one_sm(a, sm_count_of_a), blocks_for_one_sm(b, sm_count_of_b)), apart(a.tokens, b.tokens),
          apart(pairs(a), pairs(b))};
}

bool is_near(const SizeDistance& distance) {
  return distance.blocks <= 1 && distance.pairs <= 0.5 && distance.tokens <= 1;
}

const std::vector<std::string_view>& shape_class_keys() {
  static const std::vector<std::string_view> keys{"op", "pass", "io", "head", "accuracy", "shape"};
  return keys;
}

void add_shape_class(ordered_json& object, const ShapeClass& shape_class) {
  object["op"] = shape_class.op;
  object["pass"] = shape_class.pass;
  object["io"] = name_of(shape_class.io);
  object["head"] = {{"K", shape_class.key_dim}, {"V", shape_class.value_dim}};
  object["accuracy"] = shape_class.accuracy;
  object["shape"] = size_json(shape_class.size);
}

ShapeClass shape_class_from(const JsonFields& fields) {
  constexpr std::int64_t max_int = std::numeric_limits<int>::max();
  ShapeClass shape_class;
  shape_class.op = fields.identifier("op");
  shape_class.pass = passes[fields.one_of("pass", passes)];
  shape_class.io = *dtype_from(dtypes[fields.one_of("io", dtypes)]);
  const JsonFields head(fields.at("head"), fields.what() + "'s \"head\"", {"K", "V"});
  shape_class.key_dim = static_cast<int>(head.integer("K", 1, max_int));
  shape_class.value_dim = static_cast<int>(head.integer("V", 1, max_int));
  shape_class.accuracy = accuracies[fields.one_of("accuracy", accuracies)];
  shape_class.size = size_from_json(fields.at("shape"), fields.what() + "'s \"shape\"");
  return shape_class;
}

ordered_json size_json(LaunchSize size) { return {{"B", size.batches}, {"T", size.tokens}, {"H", size.heads}}; }

LaunchSize size_from_json(const json& object, const std::string& what) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const JsonFields fields(object, what, {"B", "T", "H"});
  const LaunchSize size{fields.integer("B", 1, most), fields.integer("T", 1, most), fields.integer("H", 1, most)};
  if (!checked_mul(checked_mul(size.batches, size.tokens), size.heads)) {
    user_error("{}: B x T x H is {} x {} x {}, expected a product of at most 63 bits", what, size.batches, size.tokens,
               size.heads);
  }
  return size;
}

}  // namespace wkvc
