#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# riscv64-linux-gnu-gcc that compiles equal files once: tests build SPINE and the kernel many times. Objects are kept
# in the folder of the session (tests/shared.py). An object is that of the words of the command but its own name, of
# the file that is compiled, and of the files in the present folder, which it may include.
set -eu
compiler=riscv64-linux-gnu-gcc
target= source= words= compiles= follows=
for word in "$@"; do
  if [ -n "$follows" ]; then target=$word follows=; continue; fi
  case $word in
    -o) follows=1 ;;
    -c) compiles=1 ;;
    *.c | *.S) source=$word words="$words $word" ;;
    *) words="$words $word" ;;
  esac
done
[ -n "$compiles" ] && [ -n "$target" ] && [ -n "$source" ] && [ -n "${MATCHBENCH_SESSION:-}" ] || exec "$compiler" "$@"
files=$(find . -maxdepth 1 -type f | sort)
# shellcheck disable=SC2086 # names of files without blanks
key=$({ echo "$words"; cat "$source" $files; } | sha256sum)
kept=$MATCHBENCH_SESSION/objects/${key%% *}.o
if [ ! -e "$kept" ]; then
  "$compiler" "$@"
  mkdir -p "$MATCHBENCH_SESSION/objects"
  cp "$target" "$kept.$$"
  mv "$kept.$$" "$kept"
fi
cp "$kept" "$target"
