#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compiles the kernel, or with -u a user program without a C library.
# usage: build.sh -o FILE
#        build.sh -u -o FILE SOURCE.c
# CC names another compiler than riscv64-linux-gnu-gcc.
set -euo pipefail
export LC_ALL=C

user=
out=
while getopts uo: option; do
  case $option in
    u) user=1 ;;
    o) out=$(realpath -m "$OPTARG") ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ -n "$out" ] && [ $# -eq ${user:-0} ] || { echo "build.sh: found $# sources; expected -o FILE, and one source after -u" >&2; exit 2; }
[ -z "$user" ] || source=$(realpath "$1")

cd "$(dirname "$0")"
cc=${CC:-riscv64-linux-gnu-gcc}
mapfile -t flags <flags
mapfile -t link_flags <link_flags
if [ -n "$user" ]; then
  "$cc" "${flags[@]}" "${link_flags[@]}" -I"$PWD" -Wl,-Ttext-segment=0x10000,-z,separate-code \
    -o "$out" tests/start.S "$source"
  exit
fi
objects=$(mktemp -d)
trap 'rm -r "$objects"' EXIT
for source in *.S *.c; do
  "$cc" "${flags[@]}" -c -o "$objects/${source%.*}.o" "$source"
done
"$cc" "${flags[@]}" "${link_flags[@]}" -T kernel.ld -o "$out" "$objects"/*.o
