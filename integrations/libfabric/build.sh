#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# usage: integrations/libfabric/build.sh [OUTPUT [SOURCE]]
# Builds libfabric with the providers shm, tcp, rxm and sockets, unmodified and on mbmatch, from Debian's source package
# or from the folder SOURCE. OUTPUT (default out/libfabric of this repository) gets
#
#   plain          the unmodified library: lib, include, bin
#   mbmatch/lib    the same library; the receive queues that its providers share are on mbmatch
#   long/lib       as mbmatch, which makes a table for two entries and checks its calls: tests of few entries reach the
#                  tables
#   fault-NAME/lib as long, with the fault that faults/NAME.sed plants: check.sh must find it
#   fabtests       libfabric's own tests, if they are in the source
#
# The unmodified build takes two to three minutes on two cores and is kept in CACHE; a later call compiles two files for
# each library. All else is the same objects.
#
# Environment:
#   SUITE      Debian's release with the source package (default trixie)
#   CACHE      folder of sources and builds (default matchbench/libfabric in the user's cache)
#   JOBS       processes of make (default: processors)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
output=$(realpath -m "${1:-$root/out/libfabric}")
given=${2:+$(realpath -m "$2")}
SUITE=${SUITE:-trixie}
CACHE=$(realpath -m "${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/matchbench/libfabric}")
JOBS=${JOBS:-$(nproc)}

. "$here/../common.sh"
needs autoreconf libtoolize gcc make nm python3
lock_cache
mkdir -p "$output"

if [ -n "$given" ]; then
  [ -e "$given/configure.ac" ] || fail "$given: found no configure.ac, expected the folder of a source of libfabric"
  identity="$given $(cd "$given" && find . -type f -not -path './.git/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum)"
  tree=$CACHE/given
else
  fetch_source libfabric 'libfabric_*.orig.tar.*' --tar-only
  archive=$(ls "$CACHE/package-$SUITE"/libfabric_*.orig.tar.*)
  identity=$(sha256sum <"$archive")
  tree=$CACHE/$SUITE
fi
source=$tree/source build=$tree/build

# The providers that share the receive queues and run on one host, and what RxM runs on.
options=(--prefix="$tree/plain" --disable-static)
for each in shm tcp rxm sockets; do options+=("--enable-$each"); done
for each in verbs efa psm2 psm3 opx usnic cxi ucx lpp mrail udp rxd sm2 lnx perf trace profile hook_debug hook_hmem dmabuf_peer_mem; do
  options+=("--disable-$each")
done
wanted="$identity ${options[*]}"
if [ "$(cat "$tree/built" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tree"
  mkdir -p "$source" "$build"
  if [ -n "$given" ]; then
    cp -a "$given/." "$source"
  else
    tar --extract --file "$archive" --directory "$source" --strip-components 1
  fi
  [ -e "$source/prov/util/src/util_srx.c" ] || fail "found no prov/util/src/util_srx.c, expected libfabric 1.19 or later: ${given:-$SUITE} is older"
  echo "build.sh: building libfabric, two to three minutes on two cores; logs in $CACHE"
  (cd "$source" && logged autoreconf autoreconf --install --force)
  (cd "$build" && logged configure ../source/configure "${options[@]}")
  logged make make -C "$build" -j"$JOBS" install
  nm "$build"/prov/util/src/.libs/*-util_srx.o | awk '$2 == "T" { print $3 }' >"$tree/functions"
  cp "$source/prov/util/src/util_srx.c" "$tree/util_srx.c"
  if [ -e "$source/fabtests/configure.ac" ]; then
    (cd "$source/fabtests" && logged fabtests-autoreconf autoreconf --install --force)
    mkdir -p "$tree/fabtests-build"
    (cd "$tree/fabtests-build" && logged fabtests-configure ../source/fabtests/configure --prefix="$tree/fabtests" --with-libfabric="$tree/plain")
    logged fabtests-make make -C "$tree/fabtests-build" -j"$JOBS" install
  fi
  echo "$wanted" >"$tree/built"
fi

python3 "$here/expect.py" "$source" || exit 2
libraries=$(sed -n 's/^LIBS = //p' "$build/Makefile")
flags="-O2 -DNDEBUG -fvisibility=hidden -Wall -Wextra -Werror=implicit -g"

# library NAME FOLDER [FLAGS]: libfabric with FOLDER/srx.c in place of util_srx.c, and with mbmatch.c. Make knows nothing
# of other flags.
library() {
  local file=$source/prov/util/src/util_srx.c object=$parts/$1.o
  # shellcheck disable=SC2086 # words
  logged "mbmatch-$1" gcc -std=c11 $flags ${3:-} -fPIC -c -o "$object" "$root/mbmatch/mbmatch.c"
  cp "$2/srx.c" "$file"
  # -Wl: libtool takes no object that it has not made.
  logged "library-$1" make -C "$build" CPPFLAGS="-I$2 -I$root/mbmatch ${3:-}" CFLAGS="$flags" LIBS="-Wl,$object $libraries" src/libfabric.la
  mkdir -p "$output/$1/lib"
  cp -a "$build"/src/.libs/libfabric.so* "$output/$1/lib"
  local missing
  missing=$(nm "$build"/prov/util/src/.libs/*-util_srx.o | awk '$2 == "T" { print $3 }' | grep -vxFf - "$tree/functions" || true)
  cp "$tree/util_srx.c" "$file"
  [ -z "$missing" ] || fail "srx.c does not define $(echo $missing), which libfabric's util_srx.c defines"
}

rm -rf "$output/plain" "$output/fabtests"
cp -a "$tree/plain" "$output/plain"
[ ! -e "$tree/fabtests" ] || cp -a "$tree/fabtests" "$output/fabtests"
parts=$output/parts
rm -rf "$parts"
mkdir -p "$parts"
library mbmatch "$here"
short="-DMBMATCH_CHECK -DMBMATCH_SHORT=1 -DMBMATCH_DEBT=2"
library long "$here" "$short"
for each in "$here"/faults/*.sed; do
  name=$(basename "$each" .sed)
  folder=$parts/$name
  mkdir -p "$folder"
  for file in "$here"/*.[ch]; do sed -f "$each" "$file" >"$folder/$(basename "$file")"; done
  ! cat "$here"/*.[ch] | cmp --silent - <(cat "$folder"/*.[ch]) || fail "$each changes nothing: adapt it to the sources"
  library "fault-$name" "$folder" "$short"
done
version=$(sed -n 's/^AC_INIT(\[libfabric\], \[\([^]]*\)\].*/\1/p' "$source/configure.ac")
echo "$version" >"$output/version"
echo "build.sh: libfabric $version: $output/{plain,mbmatch}/lib/libfabric.so"
