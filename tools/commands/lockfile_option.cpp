#include "tools/commands/lockfile_option.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "codegen/target/Target.h"

namespace wkvc {

void LockfileOption::add_to(CLI::App& command) {
  command
      .add_option(
          "--lockfile", path,
          "What wkvc tune found, beside what comes with wkvc, or none (what comes with wkvc, measured on an H200 "
          "and an H100)")
      ->type_name("FILE|none");
}

std::optional<Lockfile> LockfileOption::lockfile() const {
  if (path == "none") return std::nullopt;
  if (!path) return shipped_lockfile();
  Lockfile lockfile = Lockfile::read(*path);
  const std::vector<LockEntry> own(lockfile.entries().begin(), lockfile.entries().end());
  for (const LockEntry& entry : shipped_lockfile().entries())
    if (std::ranges::none_of(own, [&](const LockEntry& it) { return same_subject(it, entry); })) lockfile.merge(entry);
  return lockfile;
}

std::string LockfileOption::settle(Subject& subject, LaunchSize size, const Gpu& gpu) const {
  const std::optional<Lockfile> from = lockfile();
  if (!from) return "no lockfile: the compiler's choice";
  const Settings settings = wkvc::settle(subject.config, subject.source, size, gpu, *from);
  subject.config = settings.config;
  return settings.because;
}

Gpu gpu_without_driver(const std::string& arch) {
  return {.name = std::string(sm_90a.gpu), .arch = arch, .sm_count = sm_90a.sm_count};
}

}  // namespace wkvc
