#include "tools/commands/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace wkvc {
namespace {

using Json = nlohmann::ordered_json;

std::string cell(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const Json& part : value) parts.push_back(cell(part));
  return fmt::format("{}", fmt::join(parts, " "));
}

bool is_table(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const Json& row) { return row.is_object(); });
}

void add_row(std::string& text, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
             int indent) {
  std::string line(static_cast<std::size_t>(indent), ' ');
  for (std::size_t i = 0; i < cells.size(); ++i) line += fmt::format("{:<{}}  ", cells[i], widths[i]);
  text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

void add_table(std::string& text, const Json& rows, int indent) {
  std::vector<std::string> columns;
  for (const Json& row : rows) {
    for (const auto& [name, unused] : row.items()) {
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
    }
  }
  std::vector<std::vector<std::string>> lines{columns};
  for (const Json& row : rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const std::string& column : columns) line.push_back(row.contains(column) ? cell(row[column]) : "");
  }
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const auto& line : lines) add_row(text, line, widths, indent);
}

void add_object(std::string& text, const Json& object, int indent) {
  for (const auto& [name, value] : object.items()) {
    if (is_table(value)) {
      text += fmt::format("{:{}}{}\n", "", indent, name);
      add_table(text, value, indent + 2);
    } else if (value.is_object()) {
      text += fmt::format("{:{}}{}\n", "", indent, name);
      add_object(text, value, indent + 2);
    } else {
      text += fmt::format("{:{}}{:<16} {}\n", "", indent, name, cell(value));
    }
  }
}

}  // namespace

std::string readable(const Json& object) {
  std::string text;
  add_object(text, object, 0);
  return text;
}

}  // namespace wkvc
