#include "autotune/preferences/preferences.h"

#include <algorithm>
#include <utility>

#include "autotune/preferences/rules.h"
#include "autotune/preferences/thresholds.h"
#include "codegen/config/config.h"

namespace wkvc {

constexpr int few_parts = 4;  // of heads whose states no block's registers hold

std::optional<Config> ScheduleRules::when_packed(std::int64_t sequences) {
  const bool fill = sequences * pairs() >= 2 * sm_count_ && tokens() >= least_tokens::segments_of_packed;
  if (!fill || !has_short_operands() || !is_forward() || !narrow_keys() || !narrow_values()) return std::nullopt;
  prepare_in_teams(add_segments(4), 2, 2);
  return found_.front();
}

// Adds the same schedules without a second kernel, which may be all that has no room.
void ScheduleRules::add_without_guards() {
  for (std::size_t guarded = 0, count = found_.size(); guarded < count; ++guarded) {
    Config& config = found_.emplace_back(found_[guarded]);
    config.scales = config_.scales;
  }
}

std::vector<Config> ScheduleRules::list(const Transition& transition) {
  if (!is_forward() || tokens() >= sm_90a.choices.guarded_tokens) {
    // One block has no registers for the state of more keys, however many heads there are.
    if (has_short_operands() && is_forward() && !may_be_cut()) add_teams(1, 1, 2);
    if (is_by_warpgroups(config_)) add();  // which have no schedule but this
    if (are_few_wide()) add_few_wide(transition);
    if (has_short_operands() && narrow_keys() && narrow_values()) add_few_narrow(!transition.is_matrix);
    if (!has_short_operands()) add_exact();
    const auto before = found_.size();
    add_segmented();
    if (found_.size() == before && has_short_operands() && gives_teams_work())
      is_forward() ? add_forward() : add_both(transition);
    add();  // a kernel without scales first, and otherwise what the compiler chooses
  }
  if (!is_forward() && has_short_operands() && !may_be_cut()) cut_backward();
  for (Config& config : found_) even_out(config);
  add_without_guards();
  found_.push_back(config_);
  return found_;
}

// Adds schedules for heads whose values are dealt to parts: those for as many heads of fewer values.
static void append_in_parts(std::vector<Config>& list, const Config& config, ShapeClass shape_class, int parts,
                            const Transition& transition, int sm_count) {
  Config in_parts = config;
  in_parts.parts = parts;
  shape_class.size.heads *= parts;
  shape_class.value_dim /= parts;
  for (Config& likely : ScheduleRules(in_parts, shape_class, sm_count).list(transition))
    list.push_back(std::move(likely));
}

// Returns as many, or so many that more have the same settings.
static std::int64_t bounded(std::int64_t count) { return std::min<std::int64_t>(count, 1 << 20); }

// Returns the warps of a block for one of so many parts. Forward, half of its rows' are beside as many teams' in a
// cluster.
static std::int64_t warps_of_part(const ShapeClass& shape_class, int parts) {
  const std::int64_t strips = std::max(1, shape_class.value_dim / parts / 16);
  return shape_class.pass == "forward" ? strips * 3 / 2 : strips;
}

// Returns how many parts to try first. A warp has 16 rows of the state, with gradients of two states. Where registers
// of a block do not hold them, those of fewer warps may. Where none do, parts fill a GPU that few heads leave idle.
static int likely_parts(const ShapeClass& shape_class, const Transition& transition, int sm_count) {
  const bool forward = shape_class.pass == "forward";
  // Factors and decays by numbers leave registers enough to chunks that are prepared.
  const bool spills =
      transition.is_matrix && !transition.decays_by_numbers && !rec::has_wide_range(shape_class.accuracy);
  if (forward && (!spills || shape_class.size.tokens < sm_90a.choices.guarded_tokens)) return 1;
  const std::int64_t of_states = shape_class.key_dim / (forward ? 2 : 1);
  for (int parts = 1; parts <= rec::max_parts && rec::is_extent(shape_class.value_dim / parts); parts *= 2)
    if (sm_90a.registers_of_thread(1, warps_of_part(shape_class, parts)) >= of_states) return parts;
  const std::int64_t pairs = shape_class.size.batches * shape_class.size.heads;
  return few_parts * pairs <= sm_count && rec::is_extent(shape_class.value_dim / few_parts) ? few_parts : 1;
}

std::vector<Config> preferred_settings(const Config& config, const ShapeClass& shape_class,
                                       const Transition& transition, int sm_count, std::int64_t sequences) {
  ShapeClass alike = shape_class;
  if (sequences > 1 && has_wide_keys(shape_class)) {
    alike.size.batches = bounded(alike.size.batches) * bounded(sequences);
    alike.size.tokens = std::max<std::int64_t>(1, alike.size.tokens / sequences);
  }
  std::vector<Config> list;
  const int likely = likely_parts(alike, transition, sm_count);
  if (likely > 1) append_in_parts(list, config, alike, likely, transition, sm_count);
  for (Config& whole : ScheduleRules(config, alike, sm_count).list(transition)) list.push_back(std::move(whole));
  for (int parts = 2; parts <= rec::max_parts; ++parts)
    if (rec::are_parts(alike.value_dim, parts) && parts != likely)
      append_in_parts(list, config, alike, parts, transition, sm_count);
  return list;
}

std::optional<Config> preferred_when_packed(const Config& config, const ShapeClass& shape_class, std::int64_t sequences,
                                            int sm_count) {
  return sequences > 1 ? ScheduleRules(config, shape_class, sm_count).when_packed(bounded(sequences)) : std::nullopt;
}

}  // namespace wkvc
