#include "autotune/search/preferences.h"

#include <algorithm>

#include "autotune/search/cuts.h"
#include "autotune/search/space.h"
#include "codegen/rec/Limits.h"
#include "codegen/target/Target.h"

namespace wkvc {
namespace {

constexpr int narrow = 64;                  // values: heads of more leave a multiprocessor room for one block
constexpr int most_keys_in_segments = 128;  // kernels of more spill registers there
constexpr int little_shared = 120 * 1024;   // bytes: with less to prepare, threads of three teams have registers enough
constexpr int never = most_segments + 1;    // no sequence is cut into so many segments

// Tokens of a sequence from which on a schedule pays; measured, as all of these (docs/experiments.md, Defaults).
namespace least_tokens {
constexpr int teams = 64, teams_of_many_heads = 512, teams_of_many_wide_heads = 384;
constexpr int many_teams = 128, cluster = 256, cluster_of_wide_heads = 128, two_teams_of_cluster = 512;
constexpr int segments_of_wide_heads = 2048, segments_of_packed = 2048, segments_of_clusters = 2048;
constexpr int segments_of_factors = 1024, segments_of_factors_with_gradients = 512, segments_of_long_chunks = 2048;
constexpr int segments_of_small_matrices = 512, many_segments_of_two_terms = 2048;
constexpr int narrow_with_gradients = 448, narrow_matrices_with_gradients = 640;
}  // namespace least_tokens

// Tokens that each segment should have.
namespace tokens_a_segment {
constexpr int with_teams = 700, three_of_clusters = 1024, few_of_factors = 320, of_few_heads = 128;
constexpr int few_of_matrices = 512, four_of_matrices = 1024, backward_of_wide_heads = 40;
constexpr int with_gradients = 64, two_blocks_with_gradients = 300;
}  // namespace tokens_a_segment

// Tokens that a block goes through while the map of one segment is combined with the ones before.
namespace tokens_a_map {
constexpr int of_wide_matrices = 32, of_narrow_factors = 16, of_small_matrices = 8, least = 4;
constexpr int with_gradients = 7, of_factors_with_gradients = 2;
constexpr int two_blocks_of_matrices = 20, two_blocks_of_factors = 4;  // with gradients
}  // namespace tokens_a_map

bool is_wide(const ShapeClass& shape_class) { return sm_90a.is_wide(static_cast<std::uint64_t>(shape_class.key_dim)); }

// Adds schedules to a list, each on top of the configuration that was asked for.
class Preferences {
 public:
  Preferences(const Config& config, const ShapeClass& shape_class, int sm_count)
      : config_(config), shape_class_(shape_class), sm_count_(sm_count), cuts_{tokens(), pairs(), sm_count} {}

  std::optional<Config> when_packed(std::int64_t sequences) {
    const bool fill = sequences * pairs() >= 2 * sm_count_ && tokens() >= least_tokens::segments_of_packed;
    if (!fill || !is_measured() || !is_forward() || !narrow_keys() || !narrow_values()) return std::nullopt;
    prepare_in_teams(add_segments(4), 2, 2);
    return found_.front();
  }

  std::vector<Config> list(const Transition& transition) {
    if (!is_forward() || tokens() >= sm_90a.choices.guarded_tokens) {
      if (fill_registers()) add_teams(1, 1, 2);
      if (are_few_wide()) add_few_wide(transition);
      if (is_measured() && narrow_keys() && narrow_values()) add_few_narrow(!transition.is_matrix);
      if (!is_measured()) add_exact();
      const auto before = found_.size();
      add_segmented();
      if (found_.size() == before && is_measured() && gives_teams_work())
        is_forward() ? add_forward() : add_both(transition);
      add();  // a kernel without scales first, and otherwise what the compiler chooses
    }
    for (Config& config : found_) even_out(config);
    found_.push_back(config_);
    return found_;
  }

 private:
  std::int64_t pairs() const { return std::max<std::int64_t>(shape_class_.size.batches * shape_class_.size.heads, 1); }
  std::int64_t tokens() const { return shape_class_.size.tokens; }
  bool is_forward() const { return shape_class_.pass == "forward"; }
  // Returns whether operands have 16 bits: kernels that contract in f32 have other shapes.
  bool is_measured() const { return !rec::has_wide_range(shape_class_.accuracy); }
  bool narrow_keys() const { return !is_wide(shape_class_); }
  bool narrow_values() const { return shape_class_.value_dim <= narrow; }
  bool is_small() const { return shape_class_.value_dim < narrow; }
  // Returns whether warps that prepare chunks ahead pay. Blocks that follow each other on a multiprocessor fill it by
  // themselves where sequences are short.
  bool gives_teams_work() const {
    const bool at_once = pairs() <= sm_count_ || (is_forward() && narrow_keys() && pairs() <= 2 * sm_count_);
    if (at_once) return tokens() >= least_tokens::teams;
    const bool wide = is_forward() && !narrow_keys();
    return tokens() >= (wide ? least_tokens::teams_of_many_wide_heads : least_tokens::teams_of_many_heads);
  }

  Config& add() {
    Config& config = found_.emplace_back(config_);
    config.scales = "guarded";
    if (!is_forward() && is_measured()) config.saved = shape_class_.accuracy;
    return config;
  }

  // Segments are whole chunks, or whole groups of chunks between saved states. A block combines 16 rows of the state.
  void even_out(Config& config) const {
    for (int Config::* segments : {&Config::segments, &Config::backward_segments})
      config.*segments = cuts_.evened(config.*segments, unit_of(config), shape_class_.value_dim / 16);
  }

  // Returns the tokens of a chunk, or between saved states.
  int unit_of(const Config& config) const {
    if (is_forward()) return config.chunk != 0 ? config.chunk : 16;
    if (config_.save_every != 0) return config_.save_every;
    return config.save_every != 0 ? config.save_every : default_distance;
  }

  Config& add_segments(int segments) {
    Config& config = add();
    config.segments = segments;
    if (is_forward()) return config;
    config.backward_segments = segments;
    config.save_every = 64;
    return config;
  }

  // Returns whether one block has no registers for the state of a forward kernel, however many heads there are.
  bool fill_registers() const { return is_measured() && is_forward() && shape_class_.key_dim > most_keys_in_segments; }

  // A forward kernel has so many teams that go ahead, blocks of a cluster, and segments of a sequence; and tokens of a
  // chunk, where these are not left open.
  struct Ahead {
    int teams, cluster, segments, chunk = 0;
  };

  // Segments that gain something, and that gain in most cases.
  static constexpr int some = sm_90a.choices.least_segments, many = 2 * some;

  // Returns whether all blocks of clusters of two run at once, each with a multiprocessor for itself.
  bool are_few_wide() const {
    return is_measured() && !narrow_keys() && shape_class_.key_dim <= most_keys_in_segments &&
           2 * pairs() <= sm_count_ &&
           tokens() >= (is_forward() ? least_tokens::cluster_of_wide_heads : least_tokens::cluster);
  }

  // Returns forward kernels, the likely fastest first; none where the rules for segments do as well.
  std::vector<Ahead> ahead_of_few_wide(const Transition& transition) const {
    if (!transition.is_matrix) return ahead_of_factors(transition.has_bounded_factors);
    return is_forward() || !narrow_values() ? ahead_of_matrices() : std::vector<Ahead>{};
  }

  // Forward kernels without scales meet half as often with chunks of 32, which bounded factors allow.
  std::vector<Ahead> ahead_of_factors(bool are_bounded) const {
    const int least =
        is_forward() ? least_tokens::segments_of_factors : least_tokens::segments_of_factors_with_gradients;
    int cut = cuts_.best(sm_count_, tokens_a_map::least);
    if (cut < many || tokens() < least) cut = longer(cut, tokens_a_segment::few_of_factors);
    const bool long_chunks = is_forward() && are_bounded && config_.scales != "always";
    std::vector<Ahead> list;
    if (cut >= some) {
      if (long_chunks && tokens() >= least_tokens::segments_of_long_chunks) list.push_back({2, 1, cut, 32});
      list.push_back({2, 1, cut});
      return list;
    }
    if (!is_forward() && narrow_values()) return list;
    const bool two_teams = !is_forward() || tokens() >= least_tokens::two_teams_of_cluster;
    if (two_teams && long_chunks) list.push_back({2, 2, 1, 32});
    if (two_teams) list.push_back({2, 2, 1});
    list.push_back({1, 2, 1});
    return list;
  }

  // Returns so many segments, or fewer of at least so many tokens.
  int longer(int cut, int tokens_a_segment) const {
    return static_cast<int>(std::clamp<std::int64_t>(tokens() / tokens_a_segment, 1, cut));
  }

  // Two teams of a cluster have no room for all recurrences.
  std::vector<Ahead> ahead_of_matrices() const {
    const bool may_pay = tokens() >= least_tokens::segments_of_wide_heads;
    const int cut = may_pay ? cuts_.best(sm_count_, tokens_a_map::of_wide_matrices) : 1;
    const int cut_long = longer(cut, tokens_a_segment::with_teams);
    const int cut_clusters = may_pay ? cuts_.best(sm_count_ / 2, tokens_a_map::of_wide_matrices) : 1;
    const bool clusters_gain =
        cut_clusters >= some || (cut_clusters == 3 && tokens() / 3 >= tokens_a_segment::three_of_clusters);
    std::vector<Ahead> list;
    if (cut_long > some && (cut_long == cut || !clusters_gain)) list.push_back({2, 1, cut_long});
    list.push_back({2, 2, clusters_gain ? cut_clusters : 1});
    if (const int cut_next = many * pairs() <= sm_count_ ? cut : cut_long; cut_next >= some)
      list.push_back({2, 1, cut_next});
    if (clusters_gain && is_forward()) list.push_back({1, 2, cut_clusters});
    list.push_back({1, 2, 1});
    if (const int cut_early = cuts_.best(sm_count_, tokens_a_map::least); cut_early >= some)
      list.push_back({2, 1, cut_early});  // recurrences that have no room for clusters take longer for a token
    return list;
  }

  void add_few_wide(const Transition& transition) {
    for (const Ahead& ahead : ahead_of_few_wide(transition)) {
      Config& config = add_teams(ahead.teams, 1, ahead.cluster);
      config.segments = ahead.segments;
      config.chunk = ahead.chunk;
      if (is_forward()) continue;
      config.backward_teams = 2;
      config.backward_blocks = 1;
      config.backward_segments = cuts_.at_once(tokens_a_segment::backward_of_wide_heads);
      config.save_every = 64;
    }
  }

  void add_few_narrow(bool factors) { is_forward() ? add_few_narrow_forward(factors) : add_few_narrow_both(factors); }

  void add_few_narrow_forward(bool factors) {
    if (is_small())
      add_few_small(factors);
    else
      factors ? add_few_narrow_factors() : add_few_narrow_matrices();
  }

  // Adds segments for few values, of which two blocks have room in a multiprocessor.
  void add_few_small(bool factors) {
    const int cut = cuts_.best_of_two(factors ? tokens_a_map::of_narrow_factors : tokens_a_map::of_small_matrices);
    const int least = factors ? least_tokens::segments_of_factors : least_tokens::segments_of_small_matrices;
    if (cut > some && tokens() >= least) add_teams_in_segments(cut);
  }

  // Adds segments with three teams, one block a multiprocessor, for heads so few that several segments of each run at
  // once. Eight heads and fewer have segments of clusters before that.
  void add_few_narrow_matrices() {
    if (const int of_clusters = cuts_.at_once(tokens_a_segment::of_few_heads, 2);
        of_clusters >= many && tokens() >= least_tokens::segments_of_clusters)
      add_teams(3, 1, 2).segments = of_clusters;
    int cut = cuts_.at_once(tokens_a_segment::of_few_heads);
    if (cut < many) cut = longer(cut, tokens_a_segment::few_of_matrices);
    const int least = cut == some ? tokens_a_segment::four_of_matrices : 0;
    if (cut >= some && tokens() / cut >= least) add_teams(3, 1).segments = cut;
  }

  // Adds the same for states that go through a factor for each key. Two of their segments may share a multiprocessor.
  void add_few_narrow_factors() {
    const int cut = cuts_.at_once(tokens_a_segment::of_few_heads);
    const int twice = cuts_.best(2 * sm_count_, tokens_a_map::of_narrow_factors);
    if (cut >= many)
      add_teams(3, 1).segments = cut;
    else if (twice >= many && tokens() >= 2 * least_tokens::segments_of_factors)
      add_teams_in_segments(twice);
    else if (cut > some && tokens() >= least_tokens::segments_of_factors)
      add_teams(3, 1).segments = cut;
  }

  // Returns whether maps of segments are matrices of the most keys and values that count as few.
  bool are_large(bool factors) const { return !factors && !is_small(); }

  void add_few_narrow_both(bool factors) {
    const bool large = are_large(factors);
    if (tokens() < (large ? least_tokens::narrow_matrices_with_gradients : least_tokens::narrow_with_gradients)) return;
    add_two_blocks_with_gradients(factors);
    const int a_map = factors ? tokens_a_map::of_factors_with_gradients : tokens_a_map::with_gradients;
    const int cut = std::min(cuts_.at_once(tokens_a_segment::with_gradients), cuts_.best(sm_count_, a_map));
    if (cut > some) add_teams_in_segments(cut);
  }

  // Adds segments of two blocks a multiprocessor, which hide each other's waits if segments are long.
  void add_two_blocks_with_gradients(bool factors) {
    const int a_map = factors ? tokens_a_map::two_blocks_of_factors : tokens_a_map::two_blocks_of_matrices;
    const int cut = cuts_.best_of_two(is_small() ? tokens_a_map::with_gradients : a_map);
    const int least =
        are_large(factors) ? tokens_a_segment::two_blocks_with_gradients : tokens_a_segment::with_gradients;
    if (cut * pairs() <= sm_count_ || cut < many || tokens() / cut < least) return;
    Config& config = add_teams_in_segments(cut);
    if (!is_small()) config.blocks = config.backward_blocks = 2;
  }

  // Adds schedules for contractions in f32, or in two bf16 terms. Warps of teams hide the time that splitting operands
  // takes.
  void add_exact() {
    const int cut = cuts_.best(sm_count_, tokens_a_map::least);
    if (is_forward() && shape_class_.accuracy == "bf16x3") add_two_terms(cut);
    if (cut >= (is_forward() ? some : 2)) {
      add_teams_in_segments(cut);
      add_segments(cut);
    } else if (!narrow_keys() && is_forward()) {
      if (gives_teams_work()) add_teams(2, 1);
    } else if (narrow_keys() && !is_forward()) {
      set_backward_teams(pairs() <= sm_count_ ? add_teams(2, 0) : add());
    }
  }

  // Adds clusters of two, unless so many segments are faster.
  void add_two_terms(int cut) {
    const bool long_enough = tokens() >= least_tokens::many_segments_of_two_terms;
    const bool segments = narrow_keys() ? cut >= some : cut >= 2 * many && long_enough;
    if (segments || tokens() < least_tokens::cluster_of_wide_heads) return;
    if (narrow_keys()) add_teams(3, 1, 2);
    add_teams(1, 1, 2);
  }

  // Adds segments with teams in each pass; backward kernels of wide heads have none.
  Config& add_teams_in_segments(int segments) {
    Config& config = add_teams(2, 0);
    config.segments = segments;
    if (is_forward()) return config;
    config.backward_segments = segments;
    if (narrow_keys()) set_backward_teams(config);
    return config;
  }

  static void set_backward_teams(Config& config) {
    config.backward_teams = 2;
    config.save_every = 32;
  }

  // For sequences so few that they have to be cut. Long segments have work for teams, one block a multiprocessor.
  void add_segmented() {
    const int segments = likely_segments();
    if (segments < least_segments()) return;
    if (is_forward() && is_measured()) {
      const int one_block = std::min(segments, cuts_.at_once(1));
      if (tokens() / one_block >= tokens_a_segment::with_teams) prepare_in_teams(add_segments(one_block), 2, 1);
    }
    add_segments(segments);
  }

  // Returns the most segments to try; 1 where sequences are many.
  int likely_segments() const {
    if (4 * pairs() > sm_count_) return 1;
    if (!is_forward() && !narrow_keys() && narrow_values()) return cuts_.at_once(tokens_a_segment::with_gradients);
    const int blocks = sm_90a.choices.segment_blocks / (narrow_values() ? 1 : 2);
    return cuts_.likely(blocks, is_small() ? 1 : sm_90a.choices.likely_segment_tokens);
  }

  // Returns the fewest segments that are faster than none; `never` where no number is.
  int least_segments() const {
    if (shape_class_.key_dim > most_keys_in_segments) return never;
    if (!is_measured()) return some;
    if (is_small()) return is_forward() ? never : some;
    if (narrow_keys() && narrow_values()) return 2 * many;
    if (!is_forward() || tokens() >= least_tokens::segments_of_wide_heads) return some;
    return many * pairs() <= sm_count_ ? many : never;
  }

  // Warps that prepare chunks, beside those that take the state through them.
  static void prepare_in_teams(Config& config, int teams, int blocks) {
    config.teams = teams;
    config.rounds = 2;
    config.blocks = blocks;
  }
  Config& add_teams(int teams, int blocks, int cluster = 0) {
    Config& config = add();
    prepare_in_teams(config, teams, blocks);
    config.cluster = cluster;
    return config;
  }

  void add_forward() {
    if (narrow_keys()) {
      if (2 * pairs() <= sm_count_ && tokens() >= least_tokens::cluster) add_teams(3, 1, 2);
      if (const int segments = likely_segments(); segments >= many) add_segments(segments);
      if (pairs() <= sm_count_ && tokens() >= least_tokens::many_teams) add_teams(4, 1);
      add_teams(2, pairs() <= sm_count_ ? 1 : 2);
      if (pairs() > sm_count_) add_teams(2, 1);
    } else {
      if (!config_.sram || config_.sram > little_shared) add_teams(3, 1).sram = little_shared;
      add_teams(2, 1);
    }
  }

  void add_backward_teams(int save_every, int backward_teams, int teams, int blocks, int backward_blocks) {
    Config& config = add_teams(teams, blocks);
    config.backward_teams = backward_teams;
    config.backward_blocks = backward_blocks;
    config.save_every = save_every;
  }

  void add_both(const Transition& transition) {
    if (2 * pairs() <= sm_count_ && narrow_values()) add_cluster_with_gradients();
    if (is_small() && pairs() <= sm_count_) {
      add_segments(4);
      return;
    }
    narrow_keys() ? add_narrow_with_gradients() : add_wide_with_gradients(transition);
    add_backward_teams(0, 1, 2, 0, 0);
    if (!narrow_keys() && narrow_values()) add_without_backward_teams();
  }

  void add_cluster_with_gradients() {
    Config& config = add_teams(3, 1, 2);
    config.segments = 1;
    config.backward_teams = 2;
    config.backward_segments = 4;
    config.backward_blocks = 1;
    config.save_every = 32;
    if (!narrow_keys()) return;
    add_teams_in_segments(cuts_.at_once(tokens_a_segment::with_gradients));
    add_segments(std::max(likely_segments(), some));
  }

  bool may_have_many_teams() const { return tokens() >= least_tokens::many_teams; }

  // A forward kernel whose block has a multiprocessor for itself has as many teams as without gradients.
  void add_narrow_with_gradients() {
    const bool one_block = pairs() <= sm_count_;
    if (one_block && narrow_values() && may_have_many_teams()) add_backward_teams(32, 2, 4, 1, 2);
    add_backward_teams(32, 2, 2, 2, 2);
    if (one_block) add_backward_teams(64, 2, 2, 1, 1);
  }

  void add_wide_with_gradients(const Transition& transition) {
    if (transition.decays_by_numbers && !narrow_values() && may_have_many_teams()) add_backward_teams(64, 2, 3, 1, 1);
    if (narrow_values() && config_.parts <= 1) add_backward_teams(32, 2, 2, 1, 1);
    add_backward_teams(64, 2, 2, 1, 1);
  }

  // Adds segments for backward kernels that have no room for teams.
  void add_without_backward_teams() {
    const int cut = cuts_.at_once(tokens_a_segment::with_gradients);
    if (cut < 2 || tokens() < least_tokens::cluster || shape_class_.key_dim > most_keys_in_segments) return;
    if (cut == 2) {
      Config& config = add_teams(1, 0, 2);
      config.segments = 1;
      config.backward_teams = 1;
      config.backward_segments = cut;
      config.save_every = 64;
    }
    add_segments(cut);
  }

  const Config& config_;
  const ShapeClass& shape_class_;
  int sm_count_;
  Cuts cuts_;
  std::vector<Config> found_;
};

// Adds schedules for heads whose values are dealt to parts: those for as many heads of fewer values.
void append_in_parts(std::vector<Config>& list, const Config& config, ShapeClass shape_class, int parts,
                     const Transition& transition, int sm_count) {
  Config in_parts = config;
  in_parts.parts = parts;
  shape_class.size.heads *= parts;
  shape_class.value_dim /= parts;
  for (Config& likely : Preferences(in_parts, shape_class, sm_count).list(transition))
    list.push_back(std::move(likely));
}

}  // namespace

std::vector<Config> preferred_settings(const Config& config, const ShapeClass& shape_class,
                                       const Transition& transition, int sm_count, std::int64_t sequences) {
  ShapeClass alike = shape_class;
  if (sequences > 1 && is_wide(shape_class)) {
    alike.size.batches *= sequences;
    alike.size.tokens = std::max<std::int64_t>(1, alike.size.tokens / sequences);
  }
  std::vector<Config> list = Preferences(config, alike, sm_count).list(transition);
  for (int parts = 2; parts <= rec::max_parts && rec::is_extent(alike.value_dim / parts); parts *= 2)
    append_in_parts(list, config, alike, parts, transition, sm_count);
  return list;
}

std::optional<Config> preferred_when_packed(const Config& config, const ShapeClass& shape_class, std::int64_t sequences,
                                            int sm_count) {
  return sequences > 1 ? Preferences(config, shape_class, sm_count).when_packed(sequences) : std::nullopt;
}

}  // namespace wkvc
