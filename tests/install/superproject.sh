#!/usr/bin/env bash
# superproject.sh CMAKE BUILD SOURCE: builds and runs the consumer in a project that has wkvc as a subdirectory.
set -euo pipefail
[ -n "${WKVC_TEST_ALL:-}" ] || exit 77  # the runtime is compiled once more
cmake=$1 build=$2 source=$3

work=$build/superproject  # the same place each time, so that ccache knows what wkvc's sources were compiled to
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
fail() {
  printf 'superproject.sh: %s\n' "$*" >&2
  exit 1
}

"$cmake" -S "$(dirname "$0")/superproject" -B "$work/build" -G Ninja -DWKVC_SOURCE="$source" -DWKVC_BUILD="$build" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Werror" >"$work/configure.log" 2>&1 ||
  { cat "$work/configure.log"; fail "the project does not configure"; }
"$cmake" --build "$work/build" --parallel 2 >"$work/build.log" 2>&1 ||
  { cat "$work/build.log"; fail "the project does not build"; }

export WKVC_CACHE_DIR=$work/cache
for program in packed just_in_time from_c serve; do
  "$work/build/consumer/$program" || fail "$program failed with $?"
done
[ ! -e "$work/build/wkvc/bin/runtime_tests" ] || fail "wkvc's tests were built"
