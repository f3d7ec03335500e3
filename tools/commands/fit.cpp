// wkvc fit: the largest chunk of each precision and head size, and what it takes of a multiprocessor.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "autotune/report/first_sentence.h"
#include "autotune/search/fit.h"
#include "checking/output.h"
#include "codegen/config/options.h"
#include "dsl/registry.h"
#include "runtime/error.h"
#include "tools/commands/commands.h"

namespace wkvc {
namespace {

using Json = nlohmann::ordered_json;

struct FitOptions {
  std::string op;
  std::vector<std::string> heads{"32", "64", "96", "128", "192", "256"};
  bool json = false, map = false;
};

// Storage is f32 where operands are: it is what f32 operands are for.
Config config_of(const std::string& head, const std::string& precision, const char* pass) {
  Config config;
  set_option(heads_option(), head, config);
  config.mma = precision;
  config.io = precision == "f32" ? "f32" : "bf16";
  config.pass = pass;
  return config;
}

std::string limit_of(const FitRow& row, bool with_map) { return with_map ? row.limit : first_sentence(row.limit); }

Json json_of(const FitRow& row, bool with_map) {
  return {{"mma", row.mma},
          {"io", row.io},
          {"head", {row.key_dim, row.value_dim}},
          {"pass", row.pass},
          {"chunk", row.chunk},
          {"tile", row.tile()},
          {"bytes", row.shared_bytes},
          {"blocks", row.blocks},
          {"limit", limit_of(row, with_map)}};
}

std::string head_of(const FitRow& row) {
  return row.key_dim == row.value_dim ? std::to_string(row.key_dim) : fmt::format("{}x{}", row.key_dim, row.value_dim);
}

void print_row(const FitRow& row) {
  const std::string head = head_of(row), limit = limit_of(row, /*with_map=*/false);
  if (row.chunk == 0) {
    print("| {} | {} | {} | - | - | - | - | {} |\n", row.mma, head, row.pass, limit);
  } else {
    print("| {} | {} | {} | {} | {} | {} | {} | {} |\n", row.mma, head, row.pass, row.chunk, row.tile(),
          row.shared_bytes, row.blocks, limit);
  }
}

void print_table(const std::vector<FitRow>& rows, bool with_map) {
  print(
      "| mma | head | pass | chunk | tile | bytes | blocks/SM | larger chunks "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const FitRow& row : rows) print_row(row);
  if (!with_map) return;
  for (const FitRow& row : rows) print("\n{} {} {}: {}\n", row.mma, head_of(row), row.pass, row.limit);
}

void print_json(const std::string& op, const std::vector<FitRow>& rows, bool with_map) {
  Json list = Json::array();
  for (const FitRow& row : rows) list.push_back(json_of(row, with_map));
  print("{}\n", Json{{"op", op}, {"rows", list}}.dump());
}

// Of every precision, head and pass.
std::vector<Config> all_configs(const std::vector<std::string>& heads) {
  for (const std::string& head : heads)
    if (std::ranges::count(heads, head) > 1) user_error("--heads {} is given twice: name each head once", head);
  std::vector<Config> configs;
  for (const std::string& precision : fit_precisions()) {
    for (const std::string& head : heads) {
      for (const char* pass : {"forward", "backward"}) configs.push_back(config_of(head, precision, pass));
    }
  }
  return configs;
}

int run_fit(const FitOptions& options) {
  const Definition& recurrence = Registry::known().find(options.op);
  std::vector<FitRow> rows;
  for (const Config& config : all_configs(options.heads)) rows.push_back(fit(recurrence, config));
  options.json ? print_json(options.op, rows, options.map) : print_table(rows, options.map);
  return exit_passed;
}

}  // namespace

void add_fit(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("fit", "The largest chunk of each precision and head, and its shared memory");
  const auto options = std::make_shared<FitOptions>();
  command->add_option("op", options->op, "Operator, see wkvc list")->type_name("OP")->required();
  command->add_option("--heads", options->heads, "Each K or K,V (32 64 96 128 192 256)")->type_name("K[,V]");
  command->add_flag("--map", options->map,
                    "Behind the table: why larger chunks do not fit, in full, with maps of shared memory");
  command->add_flag("--json", options->json, "One line of JSON");
  command->callback([&action, options] { action = [options] { return run_fit(*options); }; });
}

}  // namespace wkvc
