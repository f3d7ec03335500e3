// The lockfile: JSON with an entry for every operator, shape class and GPU that was tuned. Nothing here measures.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/lockfile/lock_entry.h"

namespace wkvc {

// What settings are wanted for.
struct Wanted {
  ShapeClass shape_class;
  std::string recurrence;  // hash128 of the rec text
  Gpu gpu;
  std::string wkvc;  // the version that asks
};

// How an entry's GPU relates to the one that was asked for.
enum class GpuMatch { none, same_gpu, same_arch };

struct Found {
  const LockEntry* entry = nullptr;  // of the lockfile, valid until that changes; null: nothing to go by
  GpuMatch match = GpuMatch::none;
  bool same_size = false;
  bool stale = false;              // measured by another version of wkvc: still valid, worth mentioning
  std::size_t of_other_texts = 0;  // entries passed over because the operator's text was another one
};

// One sentence for `explain`: which entry, by which rule, and what differs.
std::string explanation(const Wanted& wanted, const Found& found);

enum class Seals { required, ignored };  // ignored: for measuring entries again

class Lockfile {
 public:
  // Throws UserError, beginning with `name`, for anything but a whole lockfile of this format. A wrong seal is one when
  // seals are required; the message says how to have the entry measured again.
  static Lockfile parse(std::string_view text, const std::string& name, Seals seals = Seals::required);
  static Lockfile read(const std::filesystem::path& path, Seals seals = Seals::required);

  std::string text() const;                             // sorted: the same entries are the same text
  void write(const std::filesystem::path& path) const;  // atomically; throws UserError

  std::span<const LockEntry> entries() const { return entries_; }  // sorted

  // Seals the entry and puts it in, in the place of one of the same subject unless that is of a later date; false: that
  // one stayed. Throws InternalError for an entry that could not be read back.
  bool merge(const LockEntry& entry);
  void remove(const LockEntry& entry);  // the one of the same subject, if there is one

  // The entry to take settings from, among those of the same recurrence text and the same class but for the size: of
  // the GPU of that name; else of the same architecture with the nearest number of SMs. Of these, the nearest size (see
  // SizeDistance). Entries with a wrong seal are never found.
  Found find(const Wanted& wanted) const;

 private:
  void add(LockEntry entry, const std::string& what);

  std::vector<LockEntry> entries_;
};

}  // namespace wkvc
