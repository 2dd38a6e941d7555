#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Cargo with Clippy before the compiler, so that one call both lints the workspace and builds it: each crate is analysed
# beside the dependencies that were just built, where `cargo clippy` would analyse every dependency once more. A warning
# is an error, of the compiler or of Clippy. Benchmarks are linted only: no code is generated for them.
#
# At levels 0 and 1 of optimization, Clippy compiles alone. Above, it only lints: it leaves out the optimizations that
# the compiler makes before LLVM, and the code would take longer to compile and to run. Most test programs spend less
# time in their own code than it takes to optimize it: they are compiled at level 0.
# Cargo keeps the artifacts of the workspace apart from those of other calls; those of dependencies are shared.
set -eu
if [ "${LINTED:-}" != compiler ]; then
  # The variable that `cargo clippy -- -D warnings` sets; tests/test_lints.py fails if it has no effect.
  export CLIPPY_ARGS='-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__'
  LINTED=compiler RUSTC_WORKSPACE_WRAPPER=$(realpath "$0") exec cargo "$@"
fi

# Called by cargo, with the compiler and its arguments.
is_benchmark='' is_test='' source='' optimization='' folder='' name='' suffix='' previous=''
for word; do
  case $word in
    benches/*.rs | */benches/*.rs) is_benchmark=1 ;;
    *.rs) source=$word ;;
    --test) is_test=1 ;;
    opt-level=*) optimization=${word#*=} ;;
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
# Beside the compiler: rustup would look a name up, which takes 11 ms in each call (AMD EPYC, family 25 model 17).
clippy=${1%rustc}clippy-driver
[ -x "$clippy" ] || clippy=clippy-driver

# Levels of test programs that compute much in their own code, or in generic code of others: those with which compiling
# and running take least. The guard `optimized` reads the list.
case $source in
  engines/list_mt/src/* | moped/tests/kernel/* | moped/tests/coherent.rs | moped/tests/moped/* | \
    match_unit/unit/tests/* | matching/testkit/tests/wrong_engines.rs | processor/src/* | \
    processor/tests/shared_l2/*) level=1 ;;
  netproc/tests/spine/* | processor/tests/chip/* | processor/tests/directory/*) level=2 ;;
  *) level=0 ;;
esac
[ -z "$is_test" ] || optimization=$level
# Removes the manifest of the workspace from the files on which cargo makes a crate depend; only Clippy names it. The
# settings that concern a crate are in the arguments, and no other change of the manifest should compile all crates.
without_manifest='s/ Cargo\.toml\( \|$\)/\1/; /^Cargo\.toml:/d'

for word; do
  shift
  case $word in opt-level=*) word=opt-level=$optimization ;; esac
  set -- "$@" "$word"
done

# Without the option, the level is 0.
case ${optimization:-0}$is_benchmark in 0 | 1) clippy_compiles=1 ;; *) clippy_compiles='' ;; esac
if [ "$clippy_compiles" ]; then
  "$clippy" "$@"
  sed -i "$without_manifest" "$folder/$name$suffix.d"
  exit
fi

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
  exec "$clippy" "$@"
)
if [ "$is_benchmark" ]; then
  # Without it cargo would take the benchmark for one that is to be built.
  : >"$folder/$name$suffix"
else
  "$@"
fi
# The list of Clippy has the configuration of the lints too.
sed "$without_manifest" "$lints/$name$suffix.d" >"$folder/$name$suffix.d"
rm -r "$lints"
