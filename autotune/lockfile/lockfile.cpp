#include "autotune/lockfile/lockfile.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "autotune/lockfile/config_json.h"
#include "autotune/lockfile/json_text.h"
#include "runtime/base/files.h"
#include "runtime/base/json_fields.h"
#include "runtime/base/streams.h"
#include "runtime/base/strict_json.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int format = 1;

// Before anything else is looked at: another format may have other keys.
void check_format(const json& object, const std::string& name) {
  if (!object.contains("format")) user_error("{} is no lockfile of wkvc: it lacks the key \"format\"", name);
  const json& given = object["format"];
  if (given == format && given.is_number_integer()) return;
  user_error(
      "{} is a lockfile of format {}, and this wkvc reads format {}: use the wkvc that wrote it, or remove it and run "
      "`wkvc tune` again",
      name, given.dump(), format);
}

[[noreturn]] void refuse_seal(const LockEntry& entry, const std::string& name, const std::string& what) {
  user_error(
      "{} ({}) has a wrong seal: it was edited by hand or is damaged. Run `wkvc tune --revalidate {}`, which measures "
      "its configuration again, or take the entry out",
      what, subject_text(entry), name);
}

GpuMatch match_of(const Gpu& had, const Gpu& wanted) {
  if (had.arch != wanted.arch) return GpuMatch::none;
  return had.name == wanted.name ? GpuMatch::same_gpu : GpuMatch::same_arch;
}

SizeDistance distance_of(const LockEntry& entry, const Wanted& wanted) {
  return distance(entry.shape_class.size, entry.gpu.sm_count, wanted.shape_class.size, wanted.gpu.sm_count);
}

// How well an entry suits; less is better.
auto rank(const LockEntry& entry, const Wanted& wanted) {
  return std::tuple(match_of(entry.gpu, wanted.gpu), std::abs(entry.gpu.sm_count - wanted.gpu.sm_count),
                    distance_of(entry, wanted));
}

bool is_candidate(const LockEntry& entry, const Wanted& wanted) {
  return same_kind(entry.shape_class, wanted.shape_class) && match_of(entry.gpu, wanted.gpu) != GpuMatch::none &&
         is_near(distance_of(entry, wanted)) && is_sealed(entry);
}

std::string gpu_text(const Gpu& gpu) { return fmt::format("{} ({}, {} SMs)", gpu.name, gpu.arch, gpu.sm_count); }

}  // namespace

std::string explanation(const Wanted& wanted, const Found& found) {
  if (found.entry == nullptr) {
    const std::string why =
        found.of_other_texts > 0
            ? fmt::format("; {} of the lockfile's entries would fit, but the operator's text was another one then",
                          found.of_other_texts)
            : "";
    return fmt::format("no tuned settings for {} on {}: the model's choice{}", text_of(wanted.shape_class),
                       gpu_text(wanted.gpu), why);
  }
  const LockEntry& entry = *found.entry;
  std::string text = fmt::format("tuned: {}; measured on ", config_label(entry.config));
  text += found.match == GpuMatch::same_gpu
              ? fmt::format("this GPU, {}", entry.gpu.name)
              : fmt::format("{}, the nearest of its architecture to {}", gpu_text(entry.gpu), gpu_text(wanted.gpu));
  text += found.same_size ? fmt::format(", for this shape, {}", text_of(entry.shape_class.size))
                          : fmt::format(", for {}, the nearest shape to {}", text_of(entry.shape_class.size),
                                        text_of(wanted.shape_class.size));
  text += fmt::format(", {}", entry.evidence.date);
  if (found.stale) text += fmt::format(", by wkvc {} (this is {})", entry.evidence.wkvc, wanted.wkvc);
  return text;
}

Lockfile Lockfile::parse(std::string_view text, const std::string& name, Seals seals) {
  const json object = parse_object(text, name);
  check_format(object, name);
  const JsonFields fields(object, name, {"format", "entries"});
  const json& list = fields.at("entries");
  if (!list.is_array()) fields.wrong("entries", list, "a list");
  Lockfile lockfile;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string what = fmt::format("{}: entry {}", name, i + 1);
    LockEntry entry = entry_from(list[i], what);
    if (seals == Seals::required && !is_sealed(entry)) refuse_seal(entry, name, what);
    lockfile.add(std::move(entry), what);
  }
  return lockfile;
}

Lockfile Lockfile::read(const std::filesystem::path& path, Seals seals) {
  return parse(read_text(path, "a lockfile of wkvc"), name_of_input(path), seals);
}

std::string Lockfile::text() const {
  ordered_json list = ordered_json::array();
  for (const LockEntry& entry : entries_) list.push_back(entry_json(entry));
  return readable_json({{"format", format}, {"entries", list}});
}

void Lockfile::write(const std::filesystem::path& path) const {
  const std::string contents = text();
  write_file_atomically(path, std::array{std::string_view(contents)});
}

bool Lockfile::merge(const LockEntry& entry) {
  LockEntry added = sealed(entry);
  try {
    entry_from(json(entry_json(added)), "the entry");
  } catch (const UserError& error) {
    internal_error("the tuner made an entry that cannot be read back: {}", error.what());
  }
  const auto old = std::ranges::find_if(entries_, [&](const LockEntry& had) { return same_subject(had, added); });
  if (old != entries_.end()) {
    if (is_sealed(*old) && old->evidence.date > added.evidence.date) return false;
    entries_.erase(old);
  }
  add(std::move(added), "the entry");
  return true;
}

void Lockfile::remove(const LockEntry& entry) {
  std::erase_if(entries_, [&](const LockEntry& had) { return same_subject(had, entry); });
}

Found Lockfile::find(const Wanted& wanted) const {
  Found found;
  for (const LockEntry& entry : entries_) {
    if (!is_candidate(entry, wanted)) continue;
    if (entry.recurrence != wanted.recurrence) {
      ++found.of_other_texts;
    } else if (found.entry == nullptr || rank(entry, wanted) < rank(*found.entry, wanted)) {
      found.entry = &entry;
    }
  }
  if (found.entry == nullptr) return found;
  found.match = match_of(found.entry->gpu, wanted.gpu);
  found.same_size = found.entry->shape_class.size == wanted.shape_class.size;
  found.stale = found.entry->evidence.wkvc != wanted.wkvc;
  return found;
}

// In its place; `what` names it in the message when there is one of its subject.
void Lockfile::add(LockEntry entry, const std::string& what) {
  const auto place = std::ranges::lower_bound(entries_, entry, sorts_before);
  if (place != entries_.end() && same_subject(*place, entry)) {
    user_error("{} is a second one of {}: keep one of them", what, subject_text(entry));
  }
  entries_.insert(place, std::move(entry));
}

}  // namespace wkvc
