// Linked into every test program that compiles kernels, for itself and for the commands that it starts.
#include <cstdlib>

namespace {

// Tests neither use nor fill the cache of who runs them. Tests of the cache have directories of their own.
[[maybe_unused]] const int no_cache = ::setenv("WKVC_CACHE_DIR", "", 1);

// Kernels for the host run for a moment: compiling quickly counts.
[[maybe_unused]] const int compiler = ::setenv("CXX", WKVC_TEST_CXX, 1);
[[maybe_unused]] const int flags = ::setenv("WKVC_HOST_CXXFLAGS", "-O0", 0);

}  // namespace
