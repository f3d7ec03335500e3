// What a subcommand works on: an operator, or the text of a stage in a file.
#pragma once

#include <string>
#include <vector>

#include "codegen/compiler.h"
#include "codegen/config/options.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

struct Subject {
  Source source;
  Config config;  // the pass is the text's, unless --pass says one
  bool from_file = false;
  std::string origin;  // what messages call it: the operator's or the file's name

  // The text of a stage, or after a pass of the compiler; the text of the last stage that runs as it is, which has the
  // forward pass before a backward one; and what the manifests in such a text say. The user's mistakes get `origin` in
  // front.
  std::string text(Stage stage) const;
  std::string after(const std::string& pass) const;
  std::string program_text() const;
  std::string nest() const;  // of its schedules
  std::vector<Manifest> manifests_in(const std::string& text) const;
  Manifest joint(const std::vector<Manifest>& manifests) const;

  // The recurrence the subject has to agree with, as text of the rec stage. For a later stage that is the built-in one
  // of the manifest's name; throws UserError when there is none.
  bool has_reference(const Manifest& manifest) const;
  std::string reference(const Manifest& manifest) const;
};

// Throws UserError: neither operator nor file, a file that is no stage's text or one of another operator, options that
// the text has settled. With `may_name_gradients`, --grad is none of those: it tells which gradients a text has.
Subject subject_from(const SubjectOptions& given, const ConfigOptions& config, bool may_name_gradients = false);

}  // namespace wkvc
