#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compiles a network processor's program: SPINE, the applications, and a user's handler.
# usage: build.sh [-z] -o FILE [HANDLER.c]
# -z: with the extensions Zba and Zbb. CC names another compiler than riscv64-linux-gnu-gcc.
set -euo pipefail
export LC_ALL=C

march=rv64imac_zifencei
out=
while getopts zo: option; do
  case $option in
    z) march=rv64imac_zba_zbb_zifencei ;;
    o) out=$(realpath -m "$OPTARG") ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ -n "$out" ] && [ $# -le 1 ] || { echo "build.sh: found $# handlers; expected -o FILE and at most one" >&2; exit 2; }
handler=${1:+$(realpath "$1")}

cd "$(dirname "$0")"
cc=${CC:-riscv64-linux-gnu-gcc}
mapfile -t flags <flags
mapfile -t link_flags <link_flags
objects=$(mktemp -d)
trap 'rm -r "$objects"' EXIT
for source in *.S *.c; do
  "$cc" "-march=$march" "${flags[@]}" -c -o "$objects/${source%.*}.o" "$source"
done
if [ -n "$handler" ]; then
  # The object file is called handler.o: netproc.ld finds it by that name. Warnings do not end the build.
  "$cc" "-march=$march" "${flags[@]}" "-I$PWD" "-ffile-prefix-map=$(dirname "$handler")=." -Wno-error \
    -c -o "$objects/handler.o" "$handler"
fi
"$cc" "-march=$march" "${flags[@]}" "${link_flags[@]}" ${handler:+-Wl,--require-defined=np_handler} -T netproc.ld \
  -o "$out" "$objects"/*.o
