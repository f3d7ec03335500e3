#!/usr/bin/env bash
# Checks the Python package. Sourced by test.sh, or run by itself after a build: scripts/python.sh
#
# PyTorch and the tools are installed once, in ~/.cache/wkvc-python: PyPI's PyTorch brings CUDA's libraries, 5 GB.

[ -n "${wkvc_root:-}" ] || source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
wkvc_python_tools=${XDG_CACHE_HOME:-$HOME/.cache}/wkvc-python

# Makes the environment of the tools, or finds it as it should be.
wkvc_setup_python() {
  local wanted=$wkvc_root/python/requirements.txt have=$wkvc_python_tools/requirements.txt
  "$wkvc_python_tools/bin/python" -c '' 2>/dev/null &&
    cmp -s <(grep -v '^#' "$wanted") <(grep -v '^#' "$have") && return
  wkvc_install python3-venv || return 1
  wkvc_say "installing PyTorch and tools in $wkvc_python_tools: 6 GB, once"
  wkvc_quietly /usr/bin/python3 -m venv --clear "$wkvc_python_tools" &&
    wkvc_quietly "$wkvc_python_tools/bin/pip" install --disable-pip-version-check -r "$wanted" &&
    cp "$wanted" "$have"
}

wkvc_lint_python() {
  (
    cd "$wkvc_root" && PATH=$wkvc_python_tools/bin:$PATH
    ruff check --no-cache python examples && ruff format --no-cache --check python examples &&
      pyright --pythonpath "$wkvc_python_tools/bin/python"
  )
}

# A wheel in $1 around the library of build/, which is not built a second time, and a few of the kernels that a wheel
# of users has.
wkvc_build_wheel() {
  (
    cd "$wkvc_root" && PATH=$wkvc_python_tools/bin:$PATH
    mkdir -p "$1/kernels" && build/bin/wkvc precompile rwkv7 --io bf16 -o "$1/kernels" >/dev/null
    pip wheel . --no-deps --no-build-isolation --quiet --disable-pip-version-check -w "$1" \
      --config-settings cmake.source-dir=python --config-settings build-dir="$1/build" \
      --config-settings build.targets=all \
      --config-settings cmake.define.WKVC_LIBRARY="$(realpath build/jit/libwkvc.so)" \
      --config-settings cmake.define.WKVC_KERNELS="$1/kernels"
  )
}

# Installs the wheel beside PyTorch, in an environment of its own, and runs the tests outside the clone.
wkvc_test_python() (
  set -euo pipefail
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  wkvc_build_wheel "$work/wheel"
  /usr/bin/python3 -m venv --without-pip "$work/venv"
  site=$("$work/venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')
  "$wkvc_python_tools/bin/pip" --disable-pip-version-check --python "$work/venv" install --quiet --no-deps --no-index \
    "$work"/wheel/wkvc-*-py3-none-manylinux_2_34_x86_64.whl
  [ -n "$(ls "$site/wkvc/kernels")" ]
  "$wkvc_python_tools/bin/python" -c 'import site; print(site.getsitepackages()[0])' >"$site/tools.pth"
  "$wkvc_python_tools/bin/pip" --disable-pip-version-check --python "$work/venv" install --quiet \
    -r "$wkvc_root/bench/requirements.txt"
  mkdir -p "$work/copy/python" "$work/copy/build/bin"
  cp -r "$wkvc_root/python/tests" "$work/copy/python"
  cp -r "$wkvc_root/README.md" "$wkvc_root/docs" "$wkvc_root/examples" "$wkvc_root/bench" "$work/copy"
  cp "$wkvc_root/build/bin/bench_recurrences" "$work/copy/build/bin"
  cd "$work/copy/python/tests"
  # Kernels for the host are kept, as other tests keep them, and nobody's cache is used.
  export WKVC_CACHE_DIR='' WKVC_HOST_CXXFLAGS=-O0 CXX=$wkvc_root/build/tests/host_cxx TORCHINDUCTOR_CACHE_DIR=$work/inductor
  "$work/venv/bin/python" -m pytest -q -p no:cacheprovider -c "$wkvc_root/pyproject.toml" --rootdir "$work/copy" -rs .
)

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -e
  wkvc_setup_python
  wkvc_lint_python
  wkvc_test_python
fi
