#!/usr/bin/env bash
# Every check of the project: build, format, lint, sanitizers, tests. Exits non-zero when any of them fails.
#
#   test.sh         compiles and runs a part of the sweeps' kernels, another part each time; WKVC_TEST_SEED=N, which is
#                   printed, repeats one. clang-tidy reads what differs from the upstream branch
#   test.sh --all   compiles and runs all of them, lets clang-tidy read every source, and builds the runtime as a part
#                   of another project
#   test.sh --no-python   leaves out the Python package, whose tests need PyTorch: 6 GB, installed once
set -euo pipefail
export WKVC_TEST_ALL=
python=1
for option in "$@"; do
  case "$option" in
    --all) WKVC_TEST_ALL=1 ;;
    --no-python) python= ;;
    *)
      echo "test.sh takes --all and --no-python, not: $option" >&2
      exit 2
      ;;
  esac
done
[ -n "$WKVC_TEST_ALL" ] || export WKVC_TEST_SEED=${WKVC_TEST_SEED:-$RANDOM}
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$wkvc_root"

failed=0
report=()

# Seconds of CPU time that the commands before this one took: fields 16 and 17 of proc(5), stat.
cpu_seconds() {
  local stat
  read -ra stat <"/proc/$$/stat"
  echo $(((stat[15] + stat[16]) / $(getconf CLK_TCK)))
}

# step NAME COMMAND...: runs the command and remembers how it went.
step() {
  local name=$1 start=$SECONDS cpu_start outcome=passed
  cpu_start=$(cpu_seconds)
  shift
  printf '\n== %s\n' "$name"
  if ! "$@"; then
    outcome=FAILED
    failed=1
  fi
  report+=("$(printf '%-34s %s %4d s, of CPU time %4d s' "$name" "$outcome" $((SECONDS - start)) \
    $(($(cpu_seconds) - cpu_start)))")
}

check_format() {
  git ls-files -z '*.cpp' '*.h' '*.cu' '*.cuh' | xargs -0 -r clang-format-22 --dry-run -Werror
}

# A sanitizer build of everything that does without MLIR, and its tests.
check_sanitized() {
  local run=(ctest --preset "$1" --no-tests=error -j "$(nproc)")
  # ThreadSanitizer of gcc 12 does not start where the kernel randomizes more address bits than it knows.
  if setarch -R true 2>/dev/null; then run=(setarch -R "${run[@]}"); fi
  wkvc_build "$1" && "${run[@]}"
}

step "build" wkvc_build dev
[ $failed = 0 ] || exit 1
step "format (clang-format)" check_format
step "gallery" scripts/gallery.py --check
step "lint (clang-tidy)" scripts/tidy.py build ${WKVC_TEST_ALL:+--all}
step "address and undefined sanitizers" check_sanitized asan
step "thread sanitizer" check_sanitized tsan
step "tests" ctest --preset dev --no-tests=error -j "$(nproc)" --output-log build/ctest.log

[ -z "$python" ] || step "python: lint, wheel and tests" scripts/python.sh

# Kernels of tests that nobody has asked for lately.
drop_old_objects() {
  local objects
  objects=$(sed -n 's/^WKVC_TEST_OBJECTS:PATH=//p' build/CMakeCache.txt)
  [ ! -d "$objects" ] || find "$objects" -mindepth 1 -maxdepth 1 -mtime +3 -exec rm -rf {} +
}
drop_old_objects

printf '\n'
printf '%s\n' "${report[@]}"
[ -n "$WKVC_TEST_ALL" ] || echo "A third of the sweeps' kernels, WKVC_TEST_SEED=$WKVC_TEST_SEED; all with --all"
grep -E 'tests passed.* out of' build/ctest.log || true
exit $failed
