#include "autotune/lockfile/journal.h"

#include <algorithm>
#include <string_view>

#include "autotune/lockfile/config_json.h"
#include "runtime/base/strict_json.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int format = 1;

std::string line_of(const ordered_json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string header_of(const TuningRun& run) {
  ordered_json classes = ordered_json::array();
  for (const ShapeClass& shape_class : run.shape_classes) {
    ordered_json object = ordered_json::object();
    add_shape_class(object, shape_class);
    classes.push_back(object);
  }
  return line_of({{"journal", format},
                  {"classes", classes},
                  {"recurrence", run.recurrence},
                  {"space", run.space},
                  {"gpu", gpu_json(run.gpu)},
                  {"wkvc", run.wkvc},
                  {"nvrtc", run.nvrtc},
                  {"driver", run.driver},
                  {"seed", run.seed},
                  {"inputs", run.inputs}});
}

[[noreturn]] void refuse_file(const std::string& name) {
  user_error("{} is no journal of wkvc tune: name another file", name);
}

// Says which fact of the run differs.
[[noreturn]] void refuse_run(const std::string& name, std::string_view found, std::string_view expected) {
  if (!found.starts_with("{\"journal\":")) refuse_file(name);
  const json had = parse_object(found, name + ": line 1"), wanted = json::parse(expected);
  for (const auto& [key, value] : wanted.items()) {
    if (had.contains(key) && had[key] == value) continue;
    user_error("{} is the journal of another run: its \"{}\" is {}, this run's is {}. Remove it, or name another file",
               name, key, had.contains(key) ? had[key].dump() : "missing", value.dump());
  }
  user_error("{}: line 1 is not as wkvc writes it. Remove the file, or name another", name);
}

}  // namespace

Journal::Journal(const std::filesystem::path& path, const TuningRun& run) : name_(path.string()), file_(path) {
  const std::string header = header_of(run), contents = file_.contents();
  const std::size_t whole = contents.rfind('\n') + 1;  // 0 when there is no whole line
  if (whole == 0 && !header.starts_with(contents)) refuse_file(name_);
  take(std::string_view(contents).substr(0, whole), header);
  if (whole < contents.size()) file_.truncate(whole);
  if (whole == 0) file_.append(header);
}

// Whole lines.
void Journal::take(std::string_view text, const std::string& header) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t size = text.find('\n') + 1;
    const std::string_view line = text.substr(0, size);
    text.remove_prefix(size);
    if (number == 1) {
      if (line != header) refuse_run(name_, line, header);
    } else {
      const std::string what = fmt::format("{}: line {}", name_, number);
      finished_.push_back(candidate_from(parse_object(line, what), what));
    }
  }
}

const Candidate* Journal::find(const Config& config, LaunchSize size) const {
  const std::string wanted = config_text(config);
  const auto found = std::ranges::find_if(finished_, [&](const Candidate& candidate) {
    return candidate.size == size && config_text(candidate.config) == wanted;
  });
  return found == finished_.end() ? nullptr : &*found;
}

void Journal::append(const Candidate& candidate) {
  file_.append(line_of(candidate_json(candidate)));
  finished_.push_back(candidate);
}

}  // namespace wkvc
