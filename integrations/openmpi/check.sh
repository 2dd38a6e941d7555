#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# usage: integrations/openmpi/check.sh [BUILD [RESULTS]]
# Checks what build.sh put into BUILD (default out/openmpi), and writes reports and times to RESULTS (default
# BUILD/results):
#
#   1. the library with planted faults fails `matchbench mpi conform` by order of matching, and revoke.c;
#   2. the others pass revoke.c over shared memory and over TCP: the revocation of a communicator with deep queues;
#   3. the library on mbmatch passes conform on 2, 3 and 4 ranks, over shared memory and over TCP, threads included; over
#      shared memory the one too that has tables after searches of more than one entry;
#   4. the example programs that need no Fortran pass, and Open MPI's own programs for MPI in C, these also on that
#      library (its counters, which spc_example and spc_test read, are not built);
#   5. the times by depth beside the unmodified library are written and shown.
#
# The same command continues an interrupted run: what has passed with the same libraries, PROGRAMS, BUDGET and SEED is
# not repeated. Remove RESULTS to repeat all. What needs only some of it names the numbers in PARTS (default "1 2 3 4 5").
#
# Environment: PROGRAMS, test programs of each run of conform (default 10000); BUDGET, its time limit (default 10m);
# SEED; PARTS; MATCHBENCH, the command (default that of this repository).
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath -m "${1:-$root/out/openmpi}")
results=$(realpath -m "${2:-$build/results}")
matchbench=${MATCHBENCH:-$root/.venv/bin/matchbench}
PARTS=${PARTS:-1 2 3 4 5} PROGRAMS=${PROGRAMS:-10000} BUDGET=${BUDGET:-10m} SEED=${SEED:-$(date +%Y%m%d)}
# Open MPI runs as root, and with more ranks than processors, only with these variables.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# What fails on the unmodified library too (docs/mpi-conform.md).
known=(--without null --without truncation --without partitioned)
declare -A transports=([sm]="--mca btl self,sm" [tcp]="--mca btl self,tcp --mca btl_tcp_if_include lo")
mkdir -p "$results"
failed=0
libraries=$(cat "$build"/{mbmatch,long,fault}/lib/mca_pml_ob1.so | sha256sum)

# part NUMBER: whether it is among PARTS.
# passed NAME: whether a check has passed already; pass NAME: it has now.
part() { [[ " $PARTS " == *" $1 "* ]]; }
passed() { [ "$(cat "$results/$1.passed" 2>/dev/null)" = "$PROGRAMS $BUDGET $SEED $libraries" ]; }
pass() { echo "$PROGRAMS $BUDGET $SEED $libraries" >"$results/$1.passed"; }

# Ranks that wait give up their processor: Open MPI decides so by itself only if a host has more ranks than processors,
# and two ranks beside other work are ten times slower without.
idle=(--mca mpi_yield_when_idle 1)

conform() { # conform KIND RANKS TRANSPORT PROGRAMS: its exit status
  # shellcheck disable=SC2086
  "$matchbench" mpi conform --force "${known[@]}" --mpicc "$build/$1/bin/mpicc" --programs "$4" --ranks "$2" --seed "$SEED" \
    --budget "$BUDGET" -o "$results/conform-$1-$3-$2" -- "$build/$1/bin/mpirun" --oversubscribe --mca pml ob1 "${idle[@]}" ${transports[$3]} \
    >"$results/conform-$1-$3-$2.txt" 2>&1 </dev/null
}

revoke() { # revoke KIND TRANSPORT: its exit status
  # shellcheck disable=SC2086
  "$build/$1/bin/mpicc" -O1 -o "$results/revoke" "$root/integrations/openmpi/revoke.c" &&
    timeout 150 "$build/$1/bin/mpirun" --with-ft ulfm --oversubscribe -n 2 --mca pml ob1 "${idle[@]}" ${transports[$2]} "$results/revoke" \
      >"$results/revoke-$1-$2.txt" 2>&1 </dev/null
}

fault() {
  conform fault 2 sm 200
  if [ $? = 1 ] && grep -q '"kind": "order"' "$results/conform-fault-sm-2/mpi-conform.json"; then
    echo "the planted fault of the order of matching is found"
  else
    echo "check.sh: the planted fault is not found: see $results/conform-fault-sm-2.txt" >&2
    failed=1
  fi
  if ! revoke fault sm && grep -q "an operation does not end" "$results/revoke-fault-sm.txt"; then
    echo "the planted fault of revocation is found"
  else
    echo "check.sh: the planted fault is not found: see $results/revoke-fault-sm.txt" >&2
    failed=1
  fi
}

revocations() {
  for each in "plain sm" "mbmatch sm" "long sm" "mbmatch tcp"; do
    read -r kind transport <<<"$each"
    if revoke "$kind" "$transport" && grep -q "^revoke: passed" "$results/revoke-$kind-$transport.txt"; then
      echo "revoke, $kind, $transport: passed"
    else
      echo "check.sh: revoke of $kind fails, $transport: see $results/revoke-$kind-$transport.txt" >&2
      failed=1
    fi
  done
}

conformance() {
  for each in "mbmatch sm" "long sm" "mbmatch tcp"; do
    read -r kind transport <<<"$each"
    for ranks in 2 3 4; do
      name=conform-$kind-$transport-$ranks report=$results/conform-$kind-$transport-$ranks.txt
      if passed "$name"; then
        echo "conform, $kind, $ranks ranks, $transport: $(grep -m 1 '^programs' "$report"), before"
      elif conform "$kind" "$ranks" "$transport" "$PROGRAMS"; then
        echo "conform, $kind, $ranks ranks, $transport: $(grep -m 1 '^programs' "$report"), $(grep -m 1 '^threads' "$report")"
        pass "$name"
      else
        echo "check.sh: conform of $kind fails on $ranks ranks, $transport: see $report" >&2
        failed=1
      fi
    done
  done
}

examples() {
  for program in halo3d cg tasks fft graph; do
    if make --silent -C "$root/examples/mpi" BUILD="$results/examples" MPICC="$build/mbmatch/bin/mpicc" MPICXX="$build/mbmatch/bin/mpicxx" "$results/examples/$program" &&
      "$build/mbmatch/bin/mpirun" --oversubscribe --mca pml ob1 -n 4 "$results/examples/$program" >"$results/$program.txt" 2>&1; then
      echo "$program: passed"
    else
      echo "check.sh: $program fails: see $results/$program.txt" >&2
      failed=1
    fi
  done

  for program in hello_c ring_c connectivity_c hello_sessions_c; do
    for kind in mbmatch long; do
      if "$build/$kind/bin/mpicc" -o "$results/examples/$program" "$build/source/examples/$program.c" &&
        "$build/$kind/bin/mpirun" --oversubscribe --mca pml ob1 -n 4 "$results/examples/$program" >"$results/$program-$kind.txt" 2>&1; then
        echo "Open MPI's $program, $kind: passed"
      else
        echo "check.sh: Open MPI's $program fails: see $results/$program-$kind.txt" >&2
        failed=1
      fi
    done
  done
}

times() {
  if passed depth; then
    "$root/.venv/bin/python" "$root/integrations/openmpi/measure.py" show "$results/depth.json" || failed=1
  elif "$root/.venv/bin/python" "$root/integrations/openmpi/measure.py" depth "$build" "$results/depth.json"; then
    pass depth
  else
    failed=1
  fi
}

part 1 && fault
part 2 && revocations
part 3 && conformance
part 4 && examples
part 5 && times
exit $failed
