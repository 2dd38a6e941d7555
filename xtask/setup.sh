#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# What the Makefile needs of the system. `setup.sh tools` provides compiler, Rust and Python; `setup.sh python` the
# Python environment `.venv`; `setup.sh packages` the packages of `python/requirements.txt` in it; `setup.sh cluster`
# those of `python/cluster.txt` too; `setup.sh dist` the linker of the released wheel; `setup.sh mpi` what the tests also need: both MPIs, Fortran, C++ and Debian's mpi4py;
# `setup.sh lints` rustfmt and clippy; `setup.sh guest` the cross compilers of guest programs and an emulator that they are compared with; `setup.sh mpis` the current Open
# MPI and MPICH of the Python registry; `setup.sh sanitizers` a nightly Rust and cargo-fuzz; `setup.sh readers` the fuzzer of Python; `setup.sh
# browser` the browser in which reports are tested; `setup.sh slurm` a batch system; `setup.sh libfabric` what builds
# libfabric, and an MPI that runs with the libfabric of integrations/libfabric; `setup.sh aarch64` a compiler for that
# architecture and an emulator; `setup.sh fuzzer` a compiler with a fuzzer.
# Missing packages are installed with apt when this runs as root on a system that has apt, and are otherwise listed.
set -eu
cd "$(dirname "$0")/.."

fail() {
  echo "setup: $1" >&2
  exit 1
}

missing=()
# need PACKAGE COMMAND...: the package is missing unless the command succeeds.
need() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 </dev/null || missing+=("$package")
}

provide() {
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    fail "something is missing; on Debian: sudo apt-get install ${missing[*]}"
  fi
  echo "setup: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local log
  log=$(mktemp)
  { apt-get update && apt-get install --yes --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1 ||
    fail "apt could not install ${missing[*]}; the end of its output: $(tail -n 3 "$log")"
  rm -f "$log"
}

links_c() {
  echo 'int main(void) { return 0; }' | "$1" -x "$2" -o /dev/null -
}

compiles_mpi() {
  printf '#include <mpi.h>\nint main(void) { return MPI_VERSION < 3; }\n' | "$1" -x c -fsyntax-only -
}

# The first Python that is new enough and can create virtual environments, which some distributions package separately.
find_python() {
  local python
  for python in ${PYTHON:-} python3 python3.11 python3.12 python3.13 python3.14 /usr/bin/python3; do
    if "$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      echo "$python"
      return 0
    fi
  done
  return 1
}

tools() {
  need gcc command -v cc
  need libc6-dev links_c cc c
  need make command -v make
  need python3-venv find_python
  provide
  command -v cargo >/dev/null || fail "cargo is missing: install Rust 1.89 or later (https://www.rust-lang.org/tools/install)"
  find_python >/dev/null || fail "no Python 3.11 or later with the modules venv and ensurepip; set PYTHON to one"
}

# A broken environment is replaced, with the stamps of what was installed into it.
python() {
  ! .venv/bin/python -m pip --version >/dev/null 2>&1 || return 0
  find .venv -mindepth 1 -maxdepth 1 ! -name tools.stamp ! -name lints.stamp -exec rm -rf {} +
  "$(find_python)" -m venv .venv
}

# Each file that is installed has one of the hashes that its package has in the list.
packages() {
  install_hashed python/requirements.txt
}

cluster() {
  install_hashed python/cluster.txt
}

dist() {
  install_hashed python/dist.txt
}

readers() {
  install_hashed python/fuzz.txt
}

# uv takes a third of pip's processor time. It does not read pip's configuration: pip installs the packages where that
# names an index, and where uv fails.
install_hashed() {
  local pip=.venv/bin/pip
  awk '/^uv==/, !/\\$/' python/requirements.txt >.venv/uv.txt
  { ! PIP_QUIET=0 $pip config list | grep -q index-url && $pip install --no-compile --require-hashes --requirement .venv/uv.txt &&
    UV_SYSTEM_CERTS=1 .venv/bin/uv pip install --quiet --python .venv/bin/python --require-hashes --requirement "$1"; } 2>/dev/null ||
    $pip install --no-compile --require-hashes --requirement "$1"
}

mpi() {
  need g++ links_c g++ c++
  need gfortran command -v gfortran
  need openmpi-bin command -v mpirun.openmpi
  need libopenmpi-dev compiles_mpi mpicc.openmpi
  need mpich command -v mpirun.mpich
  need libmpich-dev compiles_mpi mpicc.mpich
  need python3-mpi4py /usr/bin/python3 -c 'import mpi4py'
  provide
}

lints() {
  { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1 || rustup component add rustfmt clippy ||
    fail "rustfmt or clippy is missing: install both for this Rust"
}

guest() {
  need gcc-powerpc-linux-gnu command -v powerpc-linux-gnu-gcc
  need gcc-riscv64-linux-gnu command -v riscv64-linux-gnu-gcc
  need libc6-dev-riscv64-cross links_c riscv64-linux-gnu-gcc c
  need qemu-user command -v qemu-riscv64
  provide
}

browser() {
  need chromium find_browser
  provide
}

find_browser() {
  command -v chromium || command -v chromium-browser || command -v google-chrome
}

# Each has its own environment, because both call their compiler mpicc.
mpis() {
  local each
  for each in openmpi mpich; do
    .venv/bin/python -m venv --clear ".venv/mpis/$each"
    ".venv/mpis/$each/bin/pip" install "$each" || fail "pip could not install $each"
  done
}

sanitizers() {
  command -v rustup >/dev/null || fail "rustup is missing: a nightly Rust is installed with it (https://rustup.rs)"
  rustup toolchain list | grep -q '^nightly' || rustup toolchain install nightly --profile minimal
  rustup +nightly component add rust-src
  command -v cargo-fuzz >/dev/null || cargo install --locked --quiet --root .venv cargo-fuzz
}

aarch64() {
  need gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
  need libc6-dev-arm64-cross links_c aarch64-linux-gnu-gcc c
  need qemu-user command -v qemu-aarch64
  provide
}

fuzzer() {
  need clang command -v clang
  need libclang-rt-dev has_fuzzer
  provide
}

has_fuzzer() {
  echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
    clang -fsanitize=fuzzer,address -x c -o /dev/null -
}

# The services of the packages are not started: a test starts its own.
slurm() {
  need munge command -v munged
  need slurm-wlm command -v slurmctld
  provide
}

# MPICH 5 of the Python registry requires a newer interface than that of the distribution's libfabric.
libfabric() {
  need autoconf command -v autoreconf
  need automake command -v automake
  need libtool command -v libtoolize
  need binutils command -v nm
  need debian-archive-keyring test -e /usr/share/keyrings/debian-archive-keyring.gpg
  provide
  .venv/bin/python -m venv --clear .venv/mpis/mpich-4.3
  .venv/mpis/mpich-4.3/bin/pip install 'mpich==4.3.*' || fail "pip could not install mpich 4.3"
}

case ${1:-} in
  tools | python | packages | cluster | dist | readers | mpi | lints | guest | browser | mpis | sanitizers | aarch64 | slurm | libfabric | fuzzer) "$1" ;;
  *) fail "usage: setup.sh tools|python|packages|cluster|dist|readers|mpi|lints|guest|browser|mpis|sanitizers|aarch64|slurm|libfabric|fuzzer" ;;
esac
