#!/usr/bin/env bash
# partial.sh CMAKE BUILD FILE...: takes each of the built files away in turn, and expects that nothing is installed then.
# It works on a copy of BUILD's install scripts.
set -euo pipefail
cmake=$1 build=$2
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  printf 'partial.sh: %s\n' "$*" >&2
  exit 1
}
install() { "$cmake" -DCMAKE_INSTALL_PREFIX="$work/prefix" -P "$work/build/cmake_install.cmake" >"$work/log" 2>&1; }

mkdir "$work/build"
(cd "$build" && cp --parents $(find . -name cmake_install.cmake -o -path '*CMakeFiles/Export/*.cmake') wkvcConfig*.cmake \
  "$work/build")
find "$work/build" -name cmake_install.cmake -exec sed -i "s|$build|$work/build|g" {} +
for file in "$@"; do
  mkdir -p "$(dirname "$work/build/${file#"$build"/}")"
  files=("$file")
  if [[ $file == *.so* ]]; then files=("${file%.so*}".so*); fi  # with the links to it
  cp -P "${files[@]}" "$(dirname "$work/build/${file#"$build"/}")"
done

for file in "$@"; do
  copy=$work/build/${file#"$build"/}
  mv "$copy" "$work/away"
  if install; then fail "installed without $copy"; fi
  [ -e "$work/prefix" ] && fail "a part was installed without $copy: $(find "$work/prefix" -type f | head -n 3)"
  tr -s ' \n' ' ' <"$work/log" | grep -qF "wkvc is not installed: $copy is not built yet" ||
    fail "the missing file is not named: $(cat "$work/log")"
  mv "$work/away" "$copy"
done
install || fail "nothing is missing, but: $(cat "$work/log")"
[ -e "$work/prefix/bin/wkvc" ] || fail "nothing is missing, but wkvc is not installed"
