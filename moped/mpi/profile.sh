#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Gives each function MPI_X (mpi_x_ of Fortran) of an object the second name PMPI_X (pmpi_x_), and makes the first
# one weak, so that a tool can replace it (MPI 3.1, 14.2).
# usage: profile.sh COMPILER... OBJECT
set -euo pipefail
object=${*: -1}
set -- "${@:1:$#-1}"
options=()
while IFS='|' read -r name address type _ _ _ section; do
  name=${name// /}
  case $name in
    MPI_*) second=P$name ;;
    mpi_*) second=p$name ;;
    *) continue ;;
  esac
  [ "${type// /}" = T ] || continue
  options+=("--add-symbol=$second=${section//[[:space:]]/}:0x${address// /},global,function" "--weaken-symbol=$name")
done < <("$("$@" -print-prog-name=nm)" -f sysv --defined-only "$object")
[ ${#options[@]} -eq 0 ] || "$("$@" -print-prog-name=objcopy)" "${options[@]}" "$object"
