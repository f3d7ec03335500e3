// wkvc cache: what was compiled and is kept on disk (runtime/cache/disk_cache.h).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checking/output.h"
#include "runtime/cache/cache_settings.h"
#include "runtime/cache/cache_upkeep.h"
#include "runtime/error.h"
#include "tools/commands/commands.h"

namespace wkvc {
namespace {

using Row = std::array<std::string, 8>;

// "35 s", "12 min", "7 h", "3 d"; a time that is yet to come counts as now.
std::string age(std::chrono::system_clock::time_point then) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now() - then).count();
  if (seconds < 60) return fmt::format("{} s", std::max<std::int64_t>(seconds, 0));
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  return seconds < 48 * 3600 ? fmt::format("{} h", seconds / 3600) : fmt::format("{} d", seconds / (24 * 3600));
}

// Configurations come from texts that users may have written: none of them steers the terminal.
std::string printable(std::string text) {
  const auto steers = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  std::ranges::replace_if(text, steers, '?');
  return text.empty() ? "-" : text;
}

bool says_nothing(std::string_view value) { return value.empty() || value == "0" || value == "0x0" || value == "0,0"; }

// What is set in a configuration such as "head 0x0 io  mma f32 save every 16": a value follows its name of one word or,
// "save every", of two, and an empty one leaves two spaces. The architecture has a column of its own; what is too long
// is cut.
std::string set_in(std::string_view config) {
  constexpr std::size_t most = 100;
  constexpr std::string_view two_words = "save every ";
  std::string shown;
  while (!config.empty()) {
    const std::size_t space = config.starts_with(two_words) ? two_words.size() - 1 : config.find(' ');
    const std::size_t end = space == config.npos ? config.size() : std::min(config.find(' ', space + 1), config.size());
    const bool skipped = space != config.npos &&
                         (config.starts_with("arch ") || says_nothing(config.substr(space + 1, end - space - 1)));
    if (!skipped) {
      shown += shown.empty() ? "" : " ";
      shown += config.substr(0, end);
    }
    config.remove_prefix(std::min(end + 1, config.size()));
  }
  return shown.size() <= most ? shown : shown.substr(0, most - 3) + "...";
}

Row row_of(const ListedEntry& entry) {
  const CacheLabel& label = entry.label;
  Row row{age(entry.used), std::to_string(entry.bytes)};
  if (!entry.fault.empty()) {
    row[2] = "corrupt: " + entry.name + " " + entry.fault;
    return row;
  }
  std::ranges::transform(std::array{label.step, label.op, set_in(label.config), label.arch, label.tool, label.wkvc},
                         &row[2], printable);
  return row;
}

// Columns as wide as what is in them; a corrupt entry's words go on over the columns that it lacks.
void print_table(const std::vector<Row>& rows) {
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i < 2 || !row[3].empty()) widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    print("{}\n", line);
  }
}

void list(const CacheSettings& settings) {
  std::vector<Row> rows{{"used", "bytes", "what", "operator", "configuration", "arch", "made by", "wkvc"}};
  for (const ListedEntry& entry : list_cache(settings)) rows.push_back(row_of(entry));
  if (rows.size() > 1) print_table(rows);
}

void clear(const CacheSettings& settings) {
  const Removed removed = clear_cache(settings.directory);
  print("removed {} {}, {} bytes\n", removed.entries, removed.entries == 1 ? "entry" : "entries", removed.bytes);
}

void path(const CacheSettings& settings) { print("{}\n", settings.directory.string()); }

int cache(const std::string& what) {
  const std::map<std::string, void (*)(const CacheSettings&)> actions{{"list", list}, {"clear", clear}, {"path", path}};
  const auto action = actions.find(what);
  if (action == actions.end()) user_error("cache {}: not known here; expected list, clear or path", what);
  const CacheSettings settings = cache_settings_from_environment();
  if (settings.directory.empty()) {
    complain(fmt::format("the cache is off: {}", settings.why_off).c_str());
  } else {
    action->second(settings);
  }
  return exit_passed;
}

}  // namespace

void add_cache(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("cache", "Compiled kernels that are kept on disk");
  const auto what = std::make_shared<std::string>();
  command->add_option("ACTION", *what, "list (the last used first), clear or path")->required();
  command->callback([&action, what] { action = [what] { return cache(*what); }; });
}

}  // namespace wkvc
