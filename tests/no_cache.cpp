// Linked into every test program that compiles kernels: tests neither use nor fill the cache of who runs them, and
// neither do the commands that they start. Tests of the cache have directories of their own.
#include <cstdlib>

namespace {

[[maybe_unused]] const int turned_off = ::setenv("WKVC_CACHE_DIR", "", 1);

}  // namespace
