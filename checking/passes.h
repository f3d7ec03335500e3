// What check, run and bench run: the kernels of a text, and which passes of them count.
#pragma once

#include <string>

#include "checking/subject.h"
#include "runtime/manifest/manifest.h"

namespace wkvc {

enum class Passes { forward, backward, both };

const char* name_of(Passes passes);  // as --pass has it

std::string pass_text(Passes passes);  // ", pass both" for lines that say what ran; empty for forward

// Whether a result of `role` is among what these passes give.
bool gives(Passes passes, Role role);

struct Runnable {
  std::string text;  // of the cuda stage
  Passes passes = Passes::forward;
  Manifest manifest;  // of the kernels that run, as though they were one
};

// The passes are those of --pass; without it a text of the user's own gives all it holds. A backward pass has the
// forward pass that saves its states run first. Throws UserError where a pass is not in the text.
Runnable runnable_from(const Subject& subject);

}  // namespace wkvc
