#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# usage: integrations/openmpi/build.sh [OUTPUT]
# Builds Open MPI from Debian's source package, unmodified and with the matching engine mbmatch. OUTPUT (default
# out/openmpi of this repository) gets four folders, each with bin/mpicc and bin/mpirun:
#
#   plain      the unmodified library
#   mbmatch    the same library; its component pml/ob1 is configured --with-pml-ob1-matching=mbmatch
#   long       as mbmatch, with tables after searches that pass one entry: programs of few entries reach them
#   fault      as long, with planted faults: checks of the order of matching and of revocation must find them
#
# The unmodified build takes about ten minutes on two idle cores and is kept in CACHE. The patched source is configured
# a second time, which takes three minutes and is kept as long as the patches are the same; a later call builds the
# component alone. Only one component differs, since it is built as a plug-in: all else is the same file.
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
needs autoconf automake dpkg-source gcc make patch perl
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
# - PMIx and PRRTE of this source: configure takes those of the distribution if they are there, and older ones do not
#   fit;
# - no component for a network adapter, no Fortran, SHMEM or ROMIO.
# shellcheck disable=SC2054 # commas within an option
options=(
  --prefix="$tree/plain" --enable-mca-dso=pml-ob1 --with-pmix=internal --with-prrte=internal
  --enable-mpi-fortran=no --disable-oshmem --disable-io-romio --disable-sphinx --disable-debug-symbols
  --without-ucx --without-ofi --without-psm2 --without-slurm --with-treematch=no
  --enable-mca-no-build=btl-uct,btl-usnic,btl-ofi,btl-ugni,btl-portals4,btl-smcuda,coll-hcoll,coll-ucc,coll-portals4,coll-monitoring,coll-spacc,coll-adapt,common-monitoring,osc-monitoring,pml-monitoring,pml-v,op-avx
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

# The patched source is configured in a copy of the build tree: the component is linked with the libraries that are there.
# Open MPI's autogen.pl would need libtool, and would make the files of PMIx and PRRTE again, too. These are its commands
# for the files of Open MPI itself; what it corrects in configure for compilers other than GCC is left out.
configured="$wanted $(cat "$here"/patches/*.patch | sha256sum)"
if [ "$(cat "$tree/configured" 2>/dev/null)" != "$configured" ]; then
  echo "build.sh: configuring Open MPI $version --with-pml-ob1-matching=mbmatch, about three minutes"
  rm -rf "$tree/configured" "$tree/source-mbmatch" "$tree/build-mbmatch"
  cp -a "$tree/source" "$tree/source-mbmatch"
  logged apply "$here/apply.sh" "$tree/source-mbmatch"
  cd "$tree/source-mbmatch/config"
  logged autogen autom4te --language=m4sh opal_get_version.m4sh -o opal_get_version.sh
  chmod +x opal_get_version.sh
  cd ..
  logged autogen autoreconf --warnings=none -I config -I config/oac
  cp -a "$tree/build" "$tree/build-mbmatch"
  cd "$tree/build-mbmatch"
  logged configure-mbmatch ../source-mbmatch/configure "${options[@]}" --with-pml-ob1-matching=mbmatch
  echo "$configured" >"$tree/configured"
fi

echo "build.sh: building pml/ob1 of Open MPI $version on mbmatch"
logged apply "$here/apply.sh" "$tree/source-mbmatch"

# component NAME [FLAGS]: the component alone; its objects are made again, because make knows nothing of other flags.
component() {
  local ob1=$tree/build-mbmatch/ompi/mca/pml/ob1
  logged "component-$1" make -C "$ob1" clean
  logged "component-$1" make -C "$ob1" -j"$JOBS" AM_CPPFLAGS="${2:-}"
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

component mbmatch
short="-DMBMATCH_SHORT=1 -DMBMATCH_DEBT=1 -DMBMATCH_FIRST_BUCKETS=2"
component long "$short"
component fault "$short -DPML_OB1_MBMATCH_FAULT"
for each in plain mbmatch long fault; do wrapped $each; done
echo "$version" >"$output/version"
ln -sfn "$tree/source" "$output/source"
echo "build.sh: Open MPI $version: $output/{plain,mbmatch,long,fault}/bin/{mpicc,mpirun}"
