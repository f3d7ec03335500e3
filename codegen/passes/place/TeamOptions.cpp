#include "codegen/passes/place/TeamOptions.h"

#include <fmt/format.h>

#include "runtime/base/plural.h"

namespace wkvc {

std::string teams_option(int count, bool ahead) {
  return ahead && count == 1 ? "--rounds 2" : fmt::format("--teams {}", count);
}

std::string no_teams_option(int count, bool ahead, const char* first) {
  if (ahead && count == 1) return "--rounds 1";
  return fmt::format("--teams {}1{}", first, ahead ? " with --rounds 1" : "");
}

llvm::SmallVector<const char*> smaller_teams(chunk::ProgramOp program, const Plan& plan) {
  const bool is_cluster = plan.cluster > 1, is_summary = program.getSummary().has_value();
  llvm::SmallVector<const char*> options;
  if (is_summary) options.push_back("--segments 1");
  if (is_cluster && !is_summary) options.push_back("a smaller --cluster");  // that of a summary follows from its rows
  if (plan.goes_ahead() && !is_cluster) options.push_back("--rounds 1");
  if (plan.copies > plan.depth) options.push_back("fewer --teams");
  return options;
}

std::string teams_text(const Plan& plan) {
  if (plan.cluster == 1 && !plan.by_teams()) return "";
  const std::string text = " for " + plural(plan.copies, "team");
  return plan.cluster == 1 ? text : fmt::format("{} in each of {} blocks", text, plan.cluster);
}

}  // namespace wkvc
