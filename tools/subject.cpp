#include "tools/subject.h"

#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "dsl/registry.h"
#include "runtime/error.h"
#include "runtime/joint_manifest.h"

namespace wkvc {
namespace {

// `f()`, with `origin` in front of what it says of the user's mistakes.
template <class F>
auto with_origin(const std::string& origin, F f) {
  try {
    return f();
  } catch (const UserError& error) {
    user_error("{}: {}", origin, error.what());
  }
}

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) user_error("is a directory; expected text of a stage");
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) user_error("cannot be read: {}", std::strerror(errno));
  return text;
}

std::string builtin_text(const std::string& op, const Config& config) {
  return rec_text(Registry::builtin().find(op), config);
}

Subject from_file(const std::string& path, const SubjectOptions& given, const ConfigOptions& config) {
  Subject subject{.source = {},
                  .config = config.parse(),
                  .from_file = true,
                  .pass_given = config.pass.has_value(),
                  .op = given.op.value_or(""),
                  .origin = path};
  subject.source = with_origin(path, [&] { return source_from(read_text(path)); });
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
  Subject subject{.source = {},
                  .config = config.parse(),
                  .from_file = false,
                  .pass_given = config.pass.has_value(),
                  .op = *given.op,
                  .origin = *given.op};
  subject.source = {Stage::rec, builtin_text(*given.op, subject.config)};
  return subject;
}

std::string Subject::text(Stage stage) const {
  return with_origin(origin, [&] { return lower_to(source, stage, config); });
}

std::string Subject::after(const std::string& pass) const {
  return with_origin(origin, [&] { return dump_after(source, pass, config); });
}

std::string Subject::program_text() const {
  Config whole = config;
  if (whole.pass == "backward") whole.pass = "both";
  return with_origin(origin, [&] { return lower_to(source, Stage::cuda, whole); });
}

std::vector<Manifest> Subject::manifests_in(const std::string& text) const {
  return with_origin(origin, [&] { return manifests_from(text); });
}

Manifest Subject::joint(const std::vector<Manifest>& manifests) const {
  return with_origin(origin, [&] { return joint_manifest(manifests); });
}

std::string Subject::reference(const Manifest& manifest) const {
  if (source.stage == Stage::rec) return text(Stage::rec);
  Config dims;
  dims.key_dim = manifest.key_dim;
  dims.value_dim = manifest.value_dim;
  if (!op.empty()) return builtin_text(op, dims);
  return with_origin(origin + ": name an operator beside --source to compare with",
                     [&] { return builtin_text(manifest.op, dims); });
}

}  // namespace wkvc
