#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# usage: integrations/openmpi/apply.sh SOURCE
# Adds the matching engine mbmatch to the sources of Open MPI 5 in the folder SOURCE: applies patches/*.patch, and copies
# the engine and the library beside the other engines. A tree that is already patched gets the copies again. A patch that
# does not apply ends the script with status 2, and nothing is changed.
#
# configure must then be made again, with Open MPI's ./autogen.pl --force, or without libtool as build.sh does it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
[ $# = 1 ] || {
  sed -n 's/^# usage/usage/p' "$0" >&2
  exit 2
}
engines=$1/ompi/mca/pml/ob1/custommatch
[ -d "$engines" ] || {
  echo "apply.sh: $engines is no folder; expected the sources of Open MPI 5" >&2
  exit 2
}

# The patches change different files, so that they can be tried together.
try() { cat "$here"/patches/*.patch | patch --directory "$source" --strip 1 --force --fuzz 0 --no-backup-if-mismatch --reject-file - "$@" 2>&1; }

source=$1
if try --dry-run --reverse >/dev/null; then
  echo "apply.sh: already patched"
elif said=$(try --dry-run); then
  try >/dev/null
  echo "apply.sh: patched"
else
  echo "$said" >&2
  echo "apply.sh: the patches do not apply to $source: this release of Open MPI differs from those that they know" >&2
  exit 2
fi
cp "$here"/pml_ob1_custom_match_{mbmatch.c,mbmatch.h,fault.h} "$here"/../../mbmatch/mbmatch.[ch] "$engines"
