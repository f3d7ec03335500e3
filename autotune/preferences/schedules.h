// A list of schedules for launches of one size, and what rules ask about the size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "autotune/lockfile/shape_class.h"
#include "autotune/preferences/cuts.h"
#include "codegen/compiler.h"
#include "codegen/rec/Limits.h"
#include "codegen/target/Target.h"

namespace wkvc {

inline bool has_wide_keys(const ShapeClass& shape_class) {
  return sm_90a.is_wide(static_cast<std::uint64_t>(shape_class.key_dim));
}

// Adds schedules, each on top of the configuration that was asked for.
class Schedules {
 public:
  Schedules(const Config& config, const ShapeClass& shape_class, int sm_count)
      : config_(config), shape_class_(shape_class), sm_count_(sm_count), cuts_{tokens(), pairs(), sm_count} {}

 protected:
  std::int64_t pairs() const { return std::max<std::int64_t>(shape_class_.size.batches * shape_class_.size.heads, 1); }
  std::int64_t tokens() const { return shape_class_.size.tokens; }
  bool is_forward() const { return shape_class_.pass == "forward"; }
  // Returns whether operands have 16 bits: kernels that contract in f32 have other shapes.
  bool has_short_operands() const { return !rec::has_wide_range(shape_class_.accuracy); }
  bool narrow_keys() const { return !has_wide_keys(shape_class_); }
  bool narrow_values() const { return shape_class_.value_dim <= narrow; }
  bool is_small() const { return shape_class_.value_dim < narrow; }
  bool may_be_cut() const { return shape_class_.key_dim <= most_keys_in_segments; }

  // Returns whether warps that prepare chunks ahead pay. Blocks that follow each other on a multiprocessor fill it by
  // themselves where sequences are short.
  bool gives_teams_work() const;

  // Returns so many segments, or fewer of at least so many tokens.
  int longer(int cut, int tokens_a_segment) const;

  Config& add();
  Config& add_segments(int segments);
  Config& add_teams(int teams, int blocks, int cluster = 0);

  // Adds segments with teams in each pass; backward kernels of wide heads have none.
  Config& add_teams_in_segments(int segments);

  // Gives a schedule warps that prepare chunks, beside those that take the state through them.
  static void prepare_in_teams(Config& config, int teams, int blocks);

  // A backward kernel; 0: the compiler's choice. `save_every`: tokens between the states that it starts from.
  struct Backward {
    int teams = 0, blocks = 0, segments = 0, save_every = 0;
  };
  static void set_backward(Config& config, const Backward& backward);

  // Segments become whole chunks, or whole groups of chunks between saved states.
  void even_out(Config& config) const;

  static constexpr int some = sm_90a.choices.least_segments;  // segments that gain something
  static constexpr int many = 2 * some;                       // and segments that gain in most cases

  const Config& config_;
  const ShapeClass& shape_class_;
  int sm_count_;
  Cuts cuts_;
  std::vector<Config> found_;

 private:
  static constexpr int narrow = 64;                  // values: heads of more leave a multiprocessor room for one block
  static constexpr int most_keys_in_segments = 128;  // kernels of more spill registers there

  int unit_of(const Config& config) const;
};

}  // namespace wkvc
