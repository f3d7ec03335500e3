// What a subcommand works on: an operator, or the text of a stage in a file.
#pragma once

#include <string>

#include "codegen/compiler.h"
#include "runtime/manifest.h"
#include "tools/options.h"

namespace wkvc {

struct Subject {
  Source source;
  Config config;
  bool from_file = false;
  std::string op;      // as given; empty when only a file was
  std::string origin;  // what messages call it: the operator's or the file's name

  // The text of a stage or after a pass, and what the manifest in the last one says. The user's mistakes get `origin`
  // in front.
  std::string text(Stage stage) const;
  std::string after(const std::string& pass) const;
  Manifest manifest_in(const std::string& kernel_text) const;

  // The recurrence the subject has to agree with, as text of the rec stage. For a later stage that is the operator
  // given or the built-in one of the manifest's name; throws UserError when there is none.
  std::string reference(const Manifest& manifest) const;
};

// Throws UserError: neither operator nor file, a file that is no stage's text, options that the text has settled.
Subject subject_from(const SubjectOptions& given, const ConfigOptions& config);

}  // namespace wkvc
