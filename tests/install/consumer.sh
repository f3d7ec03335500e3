#!/usr/bin/env bash
# consumer.sh CMAKE BUILD CONSUMER: installs what was built, moves it, and builds and runs a project that uses it.
set -euo pipefail
cmake=$1 build=$2 consumer=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  printf 'consumer.sh: %s\n' "$*" >&2
  exit 1
}

"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"

# Outside the source tree, so that nothing is found there by chance.
cp -r "$consumer" "$work/consumer"
"$cmake" -S "$work/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Werror" >"$work/configure.log" ||
  { cat "$work/configure.log"; fail "the consumer does not configure"; }
"$cmake" --build "$work/build" --parallel 2 >"$work/build.log" 2>&1 ||
  { cat "$work/build.log"; fail "the consumer does not build"; }

# Each installed header of the language stands by itself.
for header in "$work"/moved/include/wkvc/dsl/*.h; do
  c++ -std=c++20 -fsyntax-only -x c++ -I "$work/moved/include/wkvc" "$header" >"$work/header.log" 2>&1 ||
    { cat "$work/header.log"; fail "$(basename "$header") does not compile by itself"; }
done

export WKVC_CACHE_DIR=$work/cache
for program in packed just_in_time from_c serve; do
  "$work/build/$program" || fail "$program failed with $?"
done

if ldd "$work/build/packed" | grep -iE 'llvm|mlir|nvrtc|libcuda|libwkvc'; then
  fail "the program of packed kernels needs more than the system's libraries"
fi
# Names that could meet those of an LLVM in the same process stay inside.
if nm -D --defined-only -C "$work"/moved/lib*/libwkvc.so | grep -E ' [TWVBDR] .*\b(llvm|mlir)::' | grep -v 'wkvc::'; then
  fail "the shared library shows LLVM's names"
fi
# A wrong argument is said where it is written.
printf 'find_package(wkvc REQUIRED)\nwkvc_add_kernels(TARGET x HEAD 64 OPS rwkv7)\n' >"$work/wrong.txt"
mkdir "$work/wrong"
{ printf 'cmake_minimum_required(VERSION 3.25)\nproject(wrong CXX)\n'; cat "$work/wrong.txt"; } >"$work/wrong/CMakeLists.txt"
if "$cmake" -S "$work/wrong" -B "$work/wrong/build" -DCMAKE_PREFIX_PATH="$work/moved" >"$work/wrong.log" 2>&1; then
  fail "an unknown argument was taken"
fi
grep -q 'unknown arguments: HEAD' "$work/wrong.log" || { cat "$work/wrong.log"; fail "the unknown argument is not named"; }
