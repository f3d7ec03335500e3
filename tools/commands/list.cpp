// wkvc list: the operators, with their tensors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "checking/output.h"
#include "dsl/build.h"
#include "dsl/options.h"
#include "dsl/registry.h"
#include "runtime/error.h"
#include "tools/commands/commands.h"

namespace wkvc {
namespace {

template <class Op>
std::vector<std::string> names_of(rec::RecurrenceOp recurrence) {
  std::vector<std::string> names;
  for (auto op : recurrence.getBody().getOps<Op>()) names.push_back(op.getName().str());
  return names;
}

std::string described(const Definition& definition) {
  mlir::MLIRContext context;
  const auto module = build(definition, context);
  const rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  const auto parameters = names_of<rec::ParameterOp>(recurrence);
  return fmt::format("{} -> {}{}", fmt::join(names_of<rec::InputOp>(recurrence), " "),
                     fmt::join(names_of<rec::OutputOp>(recurrence), " "),
                     parameters.empty() ? "" : fmt::format("   per head: {}", fmt::join(parameters, " ")));
}

// Lists all operators; throws UserError behind the last one where some are no good.
int list() {
  const Registry& registry = Registry::known();
  std::vector<std::string> faults;
  for (const std::string& name : registry.names()) {
    try {
      print("{:<12} {}\n", name, described(registry.find(name)));
    } catch (const UserError& fault) {
      faults.emplace_back(fault.what());
    }
  }
  if (!faults.empty()) user_error("{}", fmt::join(faults, "\n"));
  return exit_passed;
}

int list_one(const std::string& name) {
  const Definition& definition = Registry::known().find(name);
  print("{}   {}\n", name, described(definition));
  for (const OptionInfo& option : options_of(definition))
    print("  --set {}={}\n      {}\n      {}\n", option.name, option.value, option.values, option.meaning);
  return exit_passed;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("list", "The operators there are, or the options of one");
  const auto op = std::make_shared<std::optional<std::string>>();
  command->add_option("op", *op, "Operator whose options are shown")->type_name("OP");
  command->callback([&action, op] { action = [op] { return *op ? list_one(**op) : list(); }; });
}

}  // namespace wkvc
