#include "autotune/search/preferences.h"

#include "autotune/search/space.h"
#include "codegen/target/Target.h"

namespace wkvc {
namespace {

constexpr int narrow = 64;  // keys or values: wider heads leave a multiprocessor room for one block

// Returns the segments of sequences that are few: blocks enough for each multiprocessor.
int likely_segments(const ShapeClass& shape_class, int sm_count) {
  const LaunchSize size = shape_class.size;
  const bool wide = shape_class.value_dim > narrow;
  const int blocks = sm_90a.choices.segment_blocks / (wide ? 2 : 1);
  const int least_tokens = shape_class.value_dim < narrow ? 1 : sm_90a.choices.likely_segment_tokens;
  int segments = 1;
  while (2 * segments <= most_segments && can_be_cut(size, 2 * segments, sm_count, blocks) &&
         size.tokens / (2 * segments) >= least_tokens)
    segments *= 2;
  return segments < sm_90a.choices.least_segments ? 0 : segments;
}

// Adds schedules to a list, each on top of the configuration that was asked for.
class Preferences {
 public:
  Preferences(const Config& config, const ShapeClass& shape_class, int sm_count)
      : config_(config), shape_class_(shape_class), sm_count_(sm_count) {}

  std::vector<Config> list() {
    if (shape_class_.size.tokens >= sm_90a.choices.guarded_tokens) {
      if (4 * pairs() <= sm_count_) {
        if (const int segments = likely_segments(shape_class_, sm_count_)) add_segments(segments);
      } else if (is_measured()) {
        shape_class_.pass == "forward" ? add_forward() : add_both();
      }
      add();  // a kernel without scales first, and otherwise what the compiler chooses
    }
    found_.push_back(config_);
    return found_;
  }

 private:
  std::int64_t pairs() const { return shape_class_.size.batches * shape_class_.size.heads; }
  // Other dtypes have kernels of other shapes.
  bool is_measured() const { return shape_class_.accuracy == "f16" && shape_class_.io != DType::f32; }
  bool narrow_keys() const { return shape_class_.key_dim <= narrow; }
  bool narrow_values() const { return shape_class_.value_dim <= narrow; }

  Config& add() {
    Config& config = found_.emplace_back(config_);
    config.scales = "guarded";
    if (shape_class_.pass != "forward" && is_measured()) config.saved = "f16";
    return config;
  }

  void add_segments(int segments) {
    Config& config = add();
    config.segments = segments;
    if (shape_class_.pass == "forward") return;
    config.backward_segments = segments;
    config.save_every = 64;
  }

  // Warps that prepare chunks, beside those that take the state through them.
  Config& add_teams(int teams, int blocks, int cluster = 0) {
    Config& config = add();
    config.teams = teams;
    config.rounds = 2;
    config.cluster = cluster;
    config.blocks = blocks;
    return config;
  }

  void add_forward() {
    if (narrow_keys()) {
      if (2 * pairs() <= sm_count_) add_teams(3, 1, 2);
      if (pairs() <= sm_count_) add_teams(4, 1);
      add_teams(2, pairs() <= sm_count_ ? 1 : 2);
      if (pairs() > sm_count_) add_teams(2, 1);
    } else if (narrow_values() || pairs() <= sm_count_ || shape_class_.size.tokens >= 1024) {
      add_teams(2, 1);
    }
  }

  void add_backward_teams(int save_every, int backward_teams, int teams, int blocks, int backward_blocks) {
    Config& config = add_teams(teams, blocks);
    config.backward_teams = backward_teams;
    config.backward_blocks = backward_blocks;
    config.save_every = save_every;
  }

  void add_both() {
    const bool small = shape_class_.value_dim < narrow;
    if (2 * pairs() <= sm_count_ && narrow_values()) {
      Config& config = add_teams(3, 1, 2);
      config.segments = 1;
      config.backward_teams = 2;
      config.backward_segments = 4;
      config.backward_blocks = 1;
      config.save_every = 32;
      if (narrow_keys()) add_segments(4);
    }
    if (small && pairs() <= sm_count_) return add_segments(4);
    if (narrow_keys()) add_backward_teams(32, 2, 2, 2, 2);
    if (pairs() <= sm_count_ || !narrow_keys()) add_backward_teams(64, 2, 2, 1, 1);
    add_backward_teams(0, 1, 2, 0, 0);
  }

  const Config& config_;
  const ShapeClass& shape_class_;
  int sm_count_;
  std::vector<Config> found_;
};

}  // namespace

std::vector<Config> preferred_settings(const Config& config, const ShapeClass& shape_class, int sm_count) {
  return Preferences(config, shape_class, sm_count).list();
}

}  // namespace wkvc
