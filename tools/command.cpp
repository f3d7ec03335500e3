// Subcommands are in files of their own; here are the exit statuses.
#include "tools/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "checking/output.h"
#include "codegen/config/parse_mistake.h"
#include "dsl/registry.h"
#include "runtime/base/machine_fault.h"
#include "runtime/error.h"
#include "runtime/version.h"
#include "runtime/warnings.h"
#include "tools/commands/commands.h"
#include "tools/signals.h"

namespace wkvc {
namespace {

// Shows warnings as long as commands run; then they go where they went before.
class ShownWarnings {
 public:
  ShownWarnings() {
    const std::lock_guard lock(mutex());
    if (users()++ == 0) before() = on_warning([](std::string_view text) { complain(std::string(text).c_str()); });
  }
  ~ShownWarnings() {
    const std::lock_guard lock(mutex());
    if (--users() == 0) on_warning(std::move(before()));
  }
  ShownWarnings(const ShownWarnings&) = delete;
  ShownWarnings& operator=(const ShownWarnings&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static int& users() {
    static int count = 0;
    return count;
  }
  static std::function<void(std::string_view)>& before() {
    static std::function<void(std::string_view)> handler;
    return handler;
  }
};

void expect_written() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) user_error("the standard output cannot be written");
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

int run(int argc, char** argv) {
  CLI::App app("Compiles recurrences to CUDA kernels.", "wkvc");
  app.set_version_flag("--version", "wkvc " + std::string(wkvc_version()));
  Action action;
  add_list(app, action);
  add_emit(app, action);
  add_explain(app, action);
  add_check(app, action);
  add_run(app, action);
  add_bench(app, action);
  add_fit(app, action);
  add_tune(app, action);
  add_pack(app, action);
  add_precompile(app, action);
  add_cache(app, action);

  const auto names = command_names(app);
  const std::string first = argc > 1 ? argv[1] : "";
  if (!first.starts_with('-') && std::ranges::find(names, first) == names.end()) {
    user_error("{}: expected {}; wkvc --help describes them",
               first.empty() ? "no command given" : fmt::format("unknown command '{}'", first), fmt::join(names, ", "));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      app.exit(error);
      expect_written();
      return exit_passed;
    }
    const std::string mistake = mistake_text(error, app);
    user_error("{} wkvc {}--help", mistake + (mistake.ends_with('?') ? " See" : "; see"),
               first.starts_with('-') ? "" : first + " ");
  }
  const int status = action ? action() : exit_user_error;
  expect_written();
  return status;
}

void add_all(std::initializer_list<Definition (*)()> recurrences) {
  for (const auto recurrence : recurrences) {
    if (recurrence == nullptr) {
      user_error("command_main was given a null function as a recurrence: expected functions that return a Definition");
    }
    Registry::known().add(recurrence());
  }
}

int report(int status, const char* what) {
  complain(what);
  return status;
}

}  // namespace

int command_main(int argc, char** argv, std::initializer_list<Definition (*)()> recurrences) {
  reserve_standard_descriptors();
  const CleanUpOnSignals signals;
  const ShownWarnings warnings;
  try {
    add_all(recurrences);
    return run(argc, argv);
  } catch (const UserError& error) {
    return report(exit_user_error, error.what());
  } catch (const std::bad_alloc&) {
    return report(exit_user_error, "there is not enough memory for tensors of these sizes");
  } catch (const std::system_error& error) {
    return report(exit_user_error, refusal_text(error).c_str());
  } catch (const std::exception& error) {
    const std::string what = fmt::format("a fault of wkvc itself, please report it: {}", error.what());
    return report(exit_internal_error, what.c_str());
  } catch (...) {  // what a recurrence's body throws may be anything
    return report(
        exit_internal_error,
        "something was thrown that is no std::exception: if no recurrence given to the command throws it, it is "
        "a fault of wkvc itself, please report it");
  }
}

}  // namespace wkvc
