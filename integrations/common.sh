# SPDX-License-Identifier: Apache-2.0 OR MIT
# shellcheck shell=bash
# Sourced by the build scripts of this folder, which set CACHE (an absolute path) and SUITE.

fail() {
  echo "build.sh: $1" >&2
  exit 2
}

# logged NAME COMMAND...: output in a file of CACHE, its end and the place when the command fails.
logged() {
  local log=$CACHE/$1.log
  shift
  "$@" >"$log" 2>&1 </dev/null || {
    tail -n 15 "$log" >&2
    fail "failed: $*; all output is in $log"
  }
}

# needs PROGRAM...: ends the script if one is missing.
needs() {
  local each
  for each in "$@"; do
    command -v "$each" >/dev/null || fail "$each is missing; on Debian: apt-get install autoconf automake dpkg-dev gcc libtool make perl python3"
  done
}

# lock_cache: one script at a time.
lock_cache() {
  mkdir -p "$CACHE"
  exec 9>"$CACHE/lock"
  flock 9
}

# fetch_source PACKAGE FILE [OPTION...]: the source package of Debian's SUITE to CACHE/package-SUITE, unless a file that
# fits the pattern FILE is there. The options are those of `apt-get source`.
# apt has a state of its own: the suite need not be among those of this machine, and is never installed from. The mirror
# is that of this machine.
fetch_source() {
  local package=$1 file=$2 mirror key=/usr/share/keyrings/debian-archive-keyring.gpg apt=$CACHE/apt
  shift 2
  compgen -G "$CACHE/package-$SUITE/$file" >/dev/null && return
  echo "build.sh: fetching the source package of $SUITE"
  needs apt-get
  # shellcheck disable=SC2016 # names for apt
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 2>/dev/null | awk '$3 == "Debian" { print $1; exit }')
  [ -n "$mirror" ] || fail "apt knows no mirror of Debian; run apt-get update first"
  [ -e $key ] || fail "$key is missing: install debian-archive-keyring"
  rm -rf "$apt" "$CACHE/package.part"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/parts" "$CACHE/package.part"
  printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$mirror" "$SUITE" $key >"$apt/parts/suite.sources"
  local options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache")
  logged update apt-get "${options[@]}" update
  (cd "$CACHE/package.part" && logged source apt-get "${options[@]}" source --download-only "$@" "$package")
  rm -rf "$CACHE/package-$SUITE" "$apt"
  mv "$CACHE/package.part" "$CACHE/package-$SUITE"
}
