#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Cargo with Clippy before the compiler, so that one call both lints the workspace and builds it: each crate is analysed
# beside the dependencies that were just built, where `cargo clippy` would analyse every dependency once more. A warning
# is an error, of the compiler or of Clippy. Benchmarks are linted only: no code is generated for them.
#
# Clippy generates no code here: it would leave out the compiler's own optimizations, and compiling would take longer.
# Cargo keeps the artifacts of the workspace apart from those of other calls; those of dependencies are shared.
set -eu
if [ "${LINTED:-}" != compiler ]; then
  # The variable that `cargo clippy -- -D warnings` sets; tests/test_lints.py fails if it has no effect.
  export CLIPPY_ARGS='-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__'
  LINTED=compiler RUSTC_WORKSPACE_WRAPPER=$(realpath "$0") exec cargo "$@"
fi

# Called by cargo, with the compiler and its arguments.
is_benchmark='' folder='' name='' suffix='' previous=''
for word; do
  case $word in
    benches/*.rs | */benches/*.rs) is_benchmark=1 ;;
    extra-filename=*) suffix=${word#*=} ;;
  esac
  case $previous in
    --crate-name) name=$word ;;
    --out-dir) folder=$word ;;
  esac
  previous=$word
done
# A question about the compiler.
[ "$folder" ] || exec "$@"

lints=$folder/lints-$name$suffix
mkdir -p "$lints"
(
  for word; do
    shift
    case $previous:$word in
      *:--emit=*) word=--emit=dep-info,metadata ;;
      --out-dir:*) word=$lints ;;
      # What the compiler keeps for the next call would not fit: it was called with other arguments.
      *:incremental=*) word=$word/lints ;;
      # What the compiler says about artifacts is for cargo, and not about these.
      *:--json=*) word=--json=diagnostic-rendered-ansi ;;
    esac
    previous=$word
    set -- "$@" "$word"
  done
  exec clippy-driver "$@"
)
if [ "$is_benchmark" ]; then
  # Without it cargo would take the benchmark for one that is to be built.
  : >"$folder/$name$suffix"
else
  "$@"
fi
# What the crate depends on, with the configuration of Clippy. Clippy names the manifest of the workspace too; what
# matters of it is in the arguments, and no change of the rest compiles every crate again.
sed 's/ Cargo\.toml\( \|$\)/\1/; /^Cargo\.toml:/d' "$lints/$name$suffix.d" >"$folder/$name$suffix.d"
rm -r "$lints"
