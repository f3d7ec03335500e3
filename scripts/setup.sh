#!/usr/bin/env bash
# Installs what wkvc needs and this machine lacks: Debian packages and, where no CUDA toolkit is installed, NVRTC from
# PyPI in .venv. Sourced by demo.sh and test.sh; may be run by itself. Changes nothing where all is there.
#
# Sets wkvc_root, exports WKVC_NVRTC (the libnvrtc to use; set it beforehand to choose another) and defines wkvc_build.

wkvc_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

wkvc_packages=(
  g++ cmake ninja-build ccache git
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools libzstd-dev zlib1g-dev
  libfmt-dev nlohmann-json3-dev libcli11-dev libgtest-dev libgmock-dev libxxhash-dev
  clang-format-22 clang-tidy-22 python3
)
# The CUDA release that the kernels are measured with.
wkvc_nvrtc_wheel='nvidia-cuda-nvrtc==13.0.88'

wkvc_say() { printf 'setup: %s\n' "$*" >&2; }

# Runs a command with its output in a log, which is shown only when the command fails.
wkvc_quietly() {
  local log=$wkvc_root/build/setup.log
  mkdir -p "$wkvc_root/build"
  "$@" >"$log" 2>&1 </dev/null && return
  cat "$log" >&2
  wkvc_say "failed: $*"
  return 1
}

wkvc_apt_get() {
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    sudo=(sudo)
    sudo -v || return 1  # asks for the password, if any, before the output goes to the log
  fi
  wkvc_quietly "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"
}

# wkvc_install PACKAGE...: installs those that are missing.
wkvc_install() {
  local installed missing=() package
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qxF "$package installed" <<<"$installed" || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  if ! command -v apt-get >/dev/null; then
    wkvc_say "this machine has no apt-get; wkvc is built on Debian 12 and needs its packages: ${missing[*]}"
    return 1
  fi
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    wkvc_say "neither root nor sudo; ask an administrator for: apt-get install ${missing[*]}"
    return 1
  fi
  wkvc_say "installing ${missing[*]}"
  wkvc_apt_get update -q && wkvc_apt_get install -q -y --no-install-recommends "${missing[@]}"
}

# wkvc_is_nvrtc FILE: the library loads here and is of CUDA 12 or 13, whatever it is called.
wkvc_is_nvrtc() {
  [ -f "$1" ] && /usr/bin/python3 - "$1" 2>/dev/null <<'PYTHON'
import ctypes, sys
major, minor = ctypes.c_int(), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
sys.exit(major.value not in (12, 13))
PYTHON
}

# Prints the path of an NVRTC of CUDA 13, else of CUDA 12, or nothing.
wkvc_find_nvrtc() {
  local major lib
  for major in 13 12; do
    for lib in "${CUDA_HOME:-/usr/local/cuda}/lib64/libnvrtc.so.$major" \
      $(/sbin/ldconfig -p 2>/dev/null | sed -n "s/^\tlibnvrtc\.so\.$major .*=> //p") \
      "$wkvc_root"/.venv/lib/python3*/site-packages/nvidia/*/lib/"libnvrtc.so.$major"; do
      if wkvc_is_nvrtc "$lib"; then
        printf '%s\n' "$lib"
        return
      fi
    done
  done
}

wkvc_setup_nvrtc() {
  if [ -n "${WKVC_NVRTC:-}" ]; then
    wkvc_is_nvrtc "$WKVC_NVRTC" && return
    wkvc_say "WKVC_NVRTC is $WKVC_NVRTC; expected the path of a libnvrtc of CUDA 12 or 13. Or unset it"
    return 1
  fi
  WKVC_NVRTC=$(wkvc_find_nvrtc)
  if [ -z "$WKVC_NVRTC" ]; then
    wkvc_install python3-venv || return 1
    wkvc_say "no CUDA toolkit here: installing $wkvc_nvrtc_wheel from PyPI in .venv"
    wkvc_quietly /usr/bin/python3 -m venv "$wkvc_root/.venv" &&
      wkvc_quietly "$wkvc_root/.venv/bin/pip" install --no-deps --only-binary :all: "$wkvc_nvrtc_wheel" || return 1
    WKVC_NVRTC=$(wkvc_find_nvrtc)
    if [ -z "$WKVC_NVRTC" ]; then
      wkvc_say "$wkvc_nvrtc_wheel brought no libnvrtc.so that loads here"
      return 1
    fi
  fi
  export WKVC_NVRTC
}

# wkvc_build PRESET [TARGET...]: configures it and builds the targets, or everything, with all cores.
wkvc_build() {
  local preset=$1 log=$wkvc_root/build/configure-$1.log
  shift
  mkdir -p "$wkvc_root/build"
  if ! (cd "$wkvc_root" && cmake --preset "$preset") >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
  (cd "$wkvc_root" && cmake --build --preset "$preset" --parallel "$(nproc)" ${1:+--target "$@"} -- --quiet)
}

wkvc_install "${wkvc_packages[@]}" && wkvc_setup_nvrtc
