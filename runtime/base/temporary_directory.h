// Private directories, and what becomes of them when a process ends early.
#pragma once

#include <filesystem>

#include "runtime/base/descriptor.h"

namespace wkvc {

// A directory only this user can read, removed with its contents at destruction, or when the process ends normally.
// Directories that a killed process has left go when a later process makes one in the same folder.
class TemporaryDirectory {
 public:
  TemporaryDirectory();  // under $TMPDIR or /tmp; throws UserError
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }  // absolute

  void remove();  // already now

 private:
  std::filesystem::path path_;
  Descriptor lock_;  // held as long as the directory is in use
};

// For a process that a signal is about to end: ends the programs it waits for and removes its temporary directories and
// the files it has not finished. Other threads that would make or remove more of them stop there from then on.
void leave_nothing_behind();

}  // namespace wkvc
