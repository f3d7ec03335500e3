#include "tools/lockfile_option.h"

#include <CLI/CLI.hpp>

namespace wkvc {

void LockfileOption::add_to(CLI::App& command) {
  command
      .add_option("--lockfile", path,
                  "What wkvc tune found, or none (measured on an H200 and an H100, comes with wkvc)")
      ->type_name("FILE|none");
}

std::string LockfileOption::settle(Subject& subject, LaunchSize size, const Gpu& gpu) const {
  if (path == "none") return "no lockfile: the compiler's choice";
  const Lockfile lockfile = path ? Lockfile::read(*path) : shipped_lockfile();
  const Settings settings = wkvc::settle(subject.config, subject.source, size, gpu, lockfile);
  subject.config = settings.config;
  return settings.because;
}

}  // namespace wkvc
