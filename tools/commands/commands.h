// The subcommands. Each adds its options, and when it is chosen sets `action`, which runs it and returns the exit
// status. Actions throw UserError and InternalError.
#pragma once

#include <functional>
#include <string_view>

namespace CLI {
class App;
}

namespace wkvc {

// --help of --input where kernels are timed.
inline constexpr std::string_view timed_input_help =
    "Tensors by name to time kernels on, in the safetensors format, repeated or cut to the size (drawn at random)";

using Action = std::function<int()>;

constexpr int exit_passed = 0;
constexpr int exit_check_failed = 1;
constexpr int exit_user_error = 2;
constexpr int exit_internal_error = 3;  // a fault of wkvc

void add_list(CLI::App& app, Action& action);
void add_emit(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_fit(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_pack(CLI::App& app, Action& action);
void add_precompile(CLI::App& app, Action& action);
void add_cache(CLI::App& app, Action& action);

}  // namespace wkvc
