#include "autotune/report/html_report.h"

#include <fmt/format.h>

#include "autotune/report/charts.h"
#include "autotune/report/headline.h"
#include "autotune/report/html_style.h"
#include "autotune/report/legend.h"
#include "autotune/report/plot.h"

namespace wkvc {
namespace {

std::string cell(const std::string& text) { return fmt::format("<td>{}</td>", escaped(text)); }

std::string number_cell(const std::string& text) { return fmt::format("<td class=\"number\">{}</td>", text); }

std::string time_cell(const std::optional<double>& ms) { return number_cell(ms ? time_text(*ms) : ""); }

std::string error_cells(const Candidate& candidate) {
  if (candidate.errors.empty()) return cell("") + number_cell("") + number_cell("");
  const auto& [result, accuracy] = *worst(candidate.errors);
  return cell(result) + number_cell(number_text(accuracy.error)) + number_cell(number_text(accuracy.bound));
}

std::string use_cells(const Candidate& candidate) {
  if (!candidate.use) return number_cell("") + number_cell("") + number_cell("") + number_cell("");
  const KernelUse& use = *candidate.use;
  return number_cell(fmt::format("{:.1f}", static_cast<double>(use.shared_bytes) / 1024)) +
         number_cell(fmt::to_string(use.registers)) + number_cell(fmt::to_string(use.spill_bytes)) +
         number_cell(fmt::to_string(use.blocks_per_sm));
}

std::string table_row(const ShapeReport& report, const Candidate& candidate) {
  const std::string ratio =
      candidate.ms && report.copy_ms > 0 ? fmt::format("{:.2f}", *candidate.ms / report.copy_ms) : "";
  return fmt::format("<tr class=\"candidate\"><th scope=\"row\">{}</th>{}{}{}{}{}{}{}</tr>\n",
                     escaped(marked_label(report, candidate)), cell(std::string(name_of(candidate.outcome))),
                     time_cell(candidate.ms), number_cell(ratio), time_cell(candidate.predicted_ms),
                     error_cells(candidate), use_cells(candidate), cell(candidate.reason));
}

std::string table(const ShapeReport& report) {
  std::string text =
      "<h3>All candidates</h3>\n<div class=\"wide\"><table>\n<thead><tr><th>configuration</th><th>status</th>"
      "<th>ms</th><th>× copy</th><th>predicted ms</th><th>result</th><th>error</th><th>bound</th><th>shared KiB</th>"
      "<th>registers</th><th>spilled bytes</th><th>blocks an SM</th><th>reason</th></tr></thead>\n<tbody>\n";
  for (const Candidate* candidate : timed(report)) text += table_row(report, *candidate);
  for (const Candidate* candidate : not_timed(report)) text += table_row(report, *candidate);
  return text + "</tbody>\n</table></div>\n";
}

std::string reasons(const ShapeReport& report) {
  const std::vector<const Candidate*> candidates = not_timed(report);
  if (candidates.empty()) return "";
  std::string text = "<h4>Not timed</h4>\n<ul>\n";
  for (const Candidate* it : candidates) {
    text += fmt::format("<li><b>{}</b> {}: {}</li>\n", escaped(marked_label(report, *it)), name_of(it->outcome),
                        escaped(it->reason));
  }
  return text + "</ul>\n";
}

std::string chart(std::string_view heading, std::string (*legend)(std::string_view), const std::string& drawing) {
  if (drawing.empty()) return "";
  return fmt::format("<h3>{}</h3>\n<p class=\"legend\">{}</p>\n<div class=\"wide\">{}</div>\n", heading,
                     legend(drawing), drawing);
}

std::string section(const ShapeReport& report) {
  return fmt::format("<section>\n<h2>{}</h2>\n<p class=\"headline\">{}</p>\n", escaped(text_of(report.shape_class)),
                     escaped(headline(report))) +
         chart("Time by configuration", time_legend, time_chart(report)) + reasons(report) +
         chart("Error against time", error_legend, error_chart(report)) +
         chart("Shared memory against occupancy", memory_legend, memory_chart(report)) + table(report) + "</section>\n";
}

std::string fact(std::string_view name, const std::string& value) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escaped(value));
}

bool has_gpu(const RunFacts& facts) { return !facts.gpu.name.empty(); }

std::string facts_list(const RunFacts& facts) {
  const Evidence& evidence = facts.evidence;
  const std::string device = fmt::format("{}, {} SMs", facts.gpu.arch, facts.gpu.sm_count);
  const std::string programs = fact("wkvc", evidence.wkvc) + fact("NVRTC", evidence.nvrtc);
  const std::string gpu = has_gpu(facts) ? fact("GPU", facts.gpu.name + ", " + device) + programs +
                                               fact("driver", evidence.driver) + fact("measured", evidence.date)
                                         : fact("GPU", "there was none: nothing was measured") +
                                               fact("assumed", "a device like an H200, " + device) + programs +
                                               fact("written", evidence.date);
  return "<dl>\n" + gpu + fact("seed", fmt::to_string(evidence.seed)) + "</dl>\n";
}

}  // namespace

std::string html_report(const RunFacts& facts, std::span<const ShapeReport> reports) {
  const std::string title = escaped(facts.title + (has_gpu(facts) ? " on " + facts.gpu.name : ", without a GPU"));
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n"
      "<style>\n{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
      title, html_style(), title);
  text += facts_list(facts);
  for (const ShapeReport& report : reports) text += section(report);
  return text + "</body>\n</html>\n";
}

}  // namespace wkvc
