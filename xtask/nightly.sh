#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# usage: nightly.sh PART...
# Runs parts of `make nightly`, the targets `nightly-PART` of the Makefile, one after the other, and prints a table of
# their status and time. The output of each is in out/nightly/PART.log. A part that fails does not stop the others;
# the exit status is 1 when one failed. A part that passed leaves out/nightly/PART.stamp and is not repeated on the same
# files with the same sizes, so that an interrupted run continues where it stopped; remove out/nightly to repeat all.
# A part whose last line is `to be continued` is repeated: it goes on where it stopped.
# Environment: SIZES, the sizes as text; PART_LIMIT, the time after which a part has failed (default 2h).
set -u
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || {
  echo "usage: nightly.sh PART..." >&2
  exit 2
}
results=out/nightly
mkdir -p "$results"

# The commit and all differences from it.
commit=$(git rev-parse HEAD) || exit 2
changes=$({ git diff HEAD && git ls-files --others --exclude-standard -z | xargs --null --no-run-if-empty cat; } | sha256sum)
state="$commit ${changes%% *} ${SIZES:-}"

table=()
status=0
# Each part has its own process group, which an interrupt of the terminal does not reach.
running=
trap '[ -z "$running" ] || kill "$running"; echo "nightly: interrupted" >&2; exit 130' INT TERM
for part in "$@"; do
  stamp=$results/$part.stamp log=$results/$part.log
  if [ "$(head -n 1 "$stamp" 2>/dev/null)" = "$state" ]; then
    table+=("$part|passed before|$(tail -n 1 "$stamp")")
    continue
  fi
  rm -f "$stamp"
  echo "nightly: $part, output in $log"
  start=$SECONDS
  timeout --kill-after 1m "${PART_LIMIT:-2h}" "${MAKE:-make}" --no-print-directory "nightly-$part" >"$log" 2>&1 </dev/null &
  running=$!
  wait "$running"
  outcome=$?
  running=
  time=$(printf '%d:%02d' $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)))
  case $outcome in
    0)
      [ "$(tail -n 1 "$log")" = "to be continued" ] || printf '%s\n%s\n' "$state" "$time" >"$stamp"
      table+=("$part|passed|$time")
      ;;
    124 | 137)
      status=1
      table+=("$part|failed after ${PART_LIMIT:-2h}: see $log|$time")
      ;;
    *)
      status=1
      table+=("$part|failed: see $log|$time")
      ;;
  esac
done

printf '\n%-20s %9s  %s\n' part minutes status
for row in "${table[@]}"; do
  IFS='|' read -r part outcome time <<<"$row"
  printf '%-20s %9s  %s\n' "$part" "$time" "$outcome"
done
exit $status
