#include "tools/subject.h"

#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "dsl/registry.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) user_error("{}: is a directory; expected text of a stage", path);
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) user_error("{}: cannot be read: {}", path, std::strerror(errno));
  return text;
}

std::string builtin_text(const std::string& op, const Config& config) {
  return rec_text(Registry::builtin().find(op), config);
}

Subject from_file(const std::string& path, const SubjectOptions& given, const ConfigOptions& config) {
  Subject subject{.source = {}, .config = config.parse(), .op = given.op.value_or(""), .origin = path};
  const std::string text = read_text(path);
  try {
    subject.source = source_from(text);
  } catch (const UserError& error) {
    user_error("{}: {}", path, error.what());
  }
  if (const auto settled = config.settled_in(subject.source.stage); !settled.empty()) {
    user_error("{}: a text of this stage has settled {}; leave it out, or start from an earlier stage", path,
               fmt::join(settled, ", "));
  }
  return subject;
}

}  // namespace

Subject subject_from(const SubjectOptions& given, const ConfigOptions& config) {
  if (given.source) return from_file(*given.source, given, config);
  if (!given.op) user_error("no operator given; name one (wkvc list shows them) or a file with --source");
  Subject subject{.source = {}, .config = config.parse(), .op = *given.op, .origin = *given.op};
  subject.source = {Stage::rec, builtin_text(*given.op, subject.config)};
  return subject;
}

std::string Subject::text(Stage stage) const {
  try {
    return lower_to(source, stage, config);
  } catch (const UserError& error) {
    user_error("{}: {}", origin, error.what());
  }
}

std::string Subject::reference(const Manifest& manifest) const {
  if (source.stage == Stage::rec) return text(Stage::rec);
  Config dims;
  dims.key_dim = manifest.key_dim;
  dims.value_dim = manifest.value_dim;
  if (!op.empty()) return builtin_text(op, dims);
  try {
    return builtin_text(manifest.op, dims);
  } catch (const UserError& error) {
    user_error("{}: nothing to compare with: {}; name an operator beside --source", origin, error.what());
  }
}

}  // namespace wkvc
