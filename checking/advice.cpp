#include "checking/advice.h"

#include "checking/output.h"
#include "codegen/missing_range.h"

namespace wkvc {

void advise(const Subject& subject) {
  if (const auto missing = missing_range(subject.source, subject.config)) complain(text_of(*missing).c_str());
}

}  // namespace wkvc
