// Every field of a configuration is in the table, and changes every text that a configuration has.
#include "codegen/config/fields.h"

#include <set>
#include <utility>

#include "autotune/lockfile/config_json.h"
#include "codegen/config/config.h"
#include "tests/autotune/samples.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): stands for a member of any type
};

template <class T, std::size_t... I>
consteval bool has_members(std::index_sequence<I...>) {
  return requires { T{((void)I, Anything{})...}; };
}

template <class T, std::size_t N = 0>
consteval std::size_t member_count() {
  if constexpr (has_members<T>(std::make_index_sequence<N + 1>())) return member_count<T, N + 1>();
  return N;
}

TEST(ConfigFields, AreAllInTheTable) {
  std::size_t fields = 0;
  std::set<std::string> names;
  for_each_field([&](const ConfigOption&, const ConfigField& field) {
    ++fields;
    names.insert(field.name);
  });
  EXPECT_EQ(fields, member_count<Config>());
  EXPECT_EQ(names.size(), fields);
}

// Values that a field does not have by itself.
void set(const ConfigOption& option, int& value) {
  for (value = 2; !std::get<Numbers>(option.values).hold(value);) ++value;
}
void set(const ConfigOption&, std::int64_t& value) { value = 1000; }
void set(const ConfigOption&, std::vector<std::string>& names) { names = {"r", "k"}; }
void set(const ConfigOption& option, std::string& word) {
  const auto known = std::get<Words>(option.values).known;
  word = known.back() != word ? known.back() : "another";  // there is one architecture
}

template <class F>
void for_each_change(const F& f) {
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    SCOPED_TRACE(field.name);
    Config config;
    std::visit([&](auto member) { set(option, config.*member); }, field.member);
    f(option, field, config);
  });
}

TEST(ConfigFields, ChangeEveryKey) {
  std::set<std::string> keys{config_key({})};
  std::size_t changes = 1;
  for_each_change([&](const ConfigOption&, const ConfigField& field, const Config& config) {
    keys.insert(config_key(config));
    EXPECT_EQ(keys.size(), ++changes);
    EXPECT_EQ(config_key(config), fmt::format("{} {}", field.name, text_of(field, config)));
  });
}

TEST(ConfigFields, ChangeWhatIsRecorded) {
  for_each_change([&](const ConfigOption& option, const ConfigField& field, const Config& config) {
    LockEntry entry = sample_entry();
    entry.config = {};
    const std::string seal = sealed(entry).seal;
    copy_field(field, config, entry.config);
    const bool recorded = option.recorded != Recorded::no;
    EXPECT_EQ(config_text(config) != config_text({}), recorded);
    EXPECT_EQ(config_label(config) != config_label({}), recorded);
    EXPECT_EQ(sealed(entry).seal != seal, recorded);
    EXPECT_EQ(config_key(config_from(nlohmann::json::parse(config_text(config)), "it")),
              recorded ? config_key(config) : "");
  });
}

TEST(ConfigFields, SettleAtTheirStage) {
  for_each_change([&](const ConfigOption& option, const ConfigField&, const Config& config) {
    for (const Stage stage : {Stage::rec, Stage::chunk, Stage::placed, Stage::warp, Stage::cuda}) {
      const bool settled = option.settled && stage >= *option.settled;
      EXPECT_EQ(settled_options(stage, config),
                settled ? std::vector<std::string>{option.spelling} : std::vector<std::string>{});
    }
  });
}

TEST(ConfigFields, TakeNoOtherValues) {
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    SCOPED_TRACE(field.name);
    Config config;
    config.pass = "both";
    if (const auto* number = std::get_if<int Config::*>(&field.member)) config.** number = -1;
    if (const auto* bytes = std::get_if<std::int64_t Config::*>(&field.member)) config.** bytes = 232449;
    if (const auto* word = std::get_if<std::string Config::*>(&field.member)) config.** word = "f99";
    if (const auto* names = std::get_if<std::vector<std::string> Config::*>(&field.member)) config.** names = {"r,k"};
    expect_error([&] { check_config(config); }, {option.spelling, "expected "});
  });
}

TEST(ConfigFields, ThatFollowAreCompleted) {
  Config config{.teams = 4, .segments = 2, .scales = "guarded"};
  EXPECT_EQ(completed(config).backward_segments, 2);
  EXPECT_EQ(completed(config).backward_scales, "guarded");
  EXPECT_EQ(completed(config).backward_teams, 0);
  config.backward_scales = "always";
  EXPECT_EQ(completed(config).backward_scales, "always");
}

}  // namespace
}  // namespace wkvc
