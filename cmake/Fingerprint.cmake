# Run with cmake -P: writes OUT with a hash of FILES.
set(hashes "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 fingerprint "${hashes}")
file(WRITE ${OUT} "// Written by cmake/Fingerprint.cmake.
#include \"jit/fingerprint.h\"

namespace wkvc {
std::string_view compiler_fingerprint() { return \"${fingerprint}\"; }
}  // namespace wkvc
")
