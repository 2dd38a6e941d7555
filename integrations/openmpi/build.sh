#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# usage: integrations/openmpi/build.sh [OUTPUT]
# Builds Open MPI from Debian's source package, unmodified and with pml/ob1 on mbmatch. OUTPUT (default out/openmpi of
# this repository) gets four folders, each with bin/mpicc and bin/mpirun:
#
#   plain      the unmodified library
#   mbmatch    the same library; its component pml/ob1 is built on mbmatch
#   long       as mbmatch, with searches that pass one entry before the matcher: programs of few entries reach it
#   fault      as long, with a planted fault: a check of the order of matching must find it
#
# The unmodified build takes about ten minutes on two idle cores and is kept in CACHE; a later call builds the component
# alone. Only one component differs, since it is built as a plug-in: all else is the same file.
#
# Environment:
#   SUITE      Debian's release with the source package (default trixie)
#   CACHE      folder of sources and builds (default matchbench/openmpi in the user's cache)
#   JOBS       processes of make (default: processors)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
output=$(realpath -m "${1:-$root/out/openmpi}")
SUITE=${SUITE:-trixie}
CACHE=$(realpath -m "${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/matchbench/openmpi}")
JOBS=${JOBS:-$(nproc)}

. "$here/../common.sh"
needs dpkg-source gcc make perl python3 rustc
lock_cache
mkdir -p "$output"

fetch_source openmpi '*.dsc'
package=$(ls "$CACHE/package-$SUITE"/*.dsc)
debian_version=$(sed -n 's/^Version: //p' "$package" | head -n 1)
version=${debian_version%-*}
version=${version#*:}
version=${version//\~/-}
[[ $version == [5-9].* ]] || fail "Open MPI $version found in $SUITE, expected 5 or later: earlier releases have no interface for matching engines"

tree=$CACHE/openmpi-$version
# Options that decide what is compared, and what keeps the build short:
# - the component pml/ob1 as a plug-in;
# - no fault tolerance: pml/ob1 does not compile with it and a matching engine (both builds have none);
# - PMIx and PRRTE of this source: configure takes those of the distribution if they are there, and older ones do not
#   fit;
# - no component for a network adapter, no Fortran, SHMEM or ROMIO.
options=(
  --prefix="$tree/plain" --enable-mca-dso=pml-ob1 --with-ft=no --with-pmix=internal --with-prrte=internal
  --enable-mpi-fortran=no --disable-oshmem --disable-io-romio --disable-sphinx --disable-debug-symbols
  --without-ucx --without-ofi --without-psm2 --without-slurm --with-treematch=no
  --enable-mca-no-build=btl-uct,btl-usnic,btl-ofi,btl-ugni,btl-portals4,btl-smcuda,coll-hcoll,coll-ucc,coll-portals4,coll-ftagree,coll-monitoring,coll-spacc,coll-adapt,common-monitoring,osc-monitoring,pml-monitoring,pml-v,op-avx
)
wanted="$debian_version ${options[*]}"
if [ "$(cat "$tree/built" 2>/dev/null)" != "$wanted" ]; then
  echo "build.sh: building Open MPI $version, about ten minutes on two idle cores; logs in $CACHE"
  rm -rf "$tree"
  mkdir -p "$tree/build"
  # Without Debian's patches: they concern packaging, and would make configure older than what it is made of.
  logged unpack dpkg-source --skip-patches -x "$package" "$tree/source"
  cd "$tree/build"
  logged configure ../source/configure "${options[@]}"
  logged make make -j"$JOBS"
  logged install make install
  echo "$wanted" >"$tree/built"
fi

echo "build.sh: building pml/ob1 of Open MPI $version on mbmatch"
logged mbmatch make -C "$root/mbmatch" BUILD="$output/mbmatch-build" PREFIX="$output/mbmatch-installed" install
python3 "$here/edit.py" "$tree/source" >"$CACHE/edit.log"

# component NAME FLAGS: the component alone, in the build tree of the library; its objects are made again, because make
# knows nothing of other flags or of another mbmatch.
component() {
  local ob1=$tree/build/ompi/mca/pml/ob1 installed=$output/mbmatch-installed
  logged "component-$1" make -C "$ob1" clean
  logged "component-$1" make -C "$ob1" -j"$JOBS" MBMATCH_CPPFLAGS="-DPML_OB1_MBMATCH -I$installed/include $2" \
    MBMATCH_LIBS="-Wl,--exclude-libs,libmbmatch.a $installed/lib/libmbmatch.a -lgcc_s -lpthread -ldl"
  install -D -m 755 "$ob1/.libs/mca_pml_ob1.so" "$output/$1/lib/mca_pml_ob1.so"
}

# wrapped NAME: commands of the library. The launcher tells the ranks alone where to look for components first: PMIx and
# PRRTE read the variable too, and complain about what they find there.
wrapped() {
  local command first
  mkdir -p "$output/$1/bin"
  for command in mpicc mpicxx mpirun mpiexec; do
    first=
    if [ "$1" != plain ] && [[ $command == mpirun || $command == mpiexec ]]; then
      first="-x OMPI_MCA_mca_base_component_path=$output/$1/lib:$tree/plain/lib/openmpi"
    fi
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$tree/plain/bin/$command" "$first" >"$output/$1/bin/$command"
    chmod +x "$output/$1/bin/$command"
  done
}

component mbmatch ""
component long "-DCUSTOM_MATCH_SHORT=1"
component fault "-DPML_OB1_MBMATCH_FAULT -DCUSTOM_MATCH_SHORT=1"
for each in plain mbmatch long fault; do wrapped $each; done
echo "$version" >"$output/version"
ln -sfn "$tree/source" "$output/source"
echo "build.sh: Open MPI $version: $output/{plain,mbmatch,long,fault}/bin/{mpicc,mpirun}"
