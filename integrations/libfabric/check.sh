#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# usage: integrations/libfabric/check.sh [BUILD [RESULTS]]
# Checks what build.sh put into BUILD (default out/libfabric), and writes reports and times to RESULTS (default
# BUILD/results):
#
#   1. random operations, judged by a reference, or the program `reuse`, find each planted fault;
#   2. they agree with the library on mbmatch, over the providers shm and tcp with RxM, also with short messages that do
#      not fit, and with tables from two entries on;
#   3. what unmodified versions do otherwise than documented is as documented on mbmatch; what the unmodified library
#      does is written beside it;
#   4. libfabric's own tests of tagged messages, multi-receive buffers and cancellation pass;
#   5. the times by depth beside the unmodified library are written and shown;
#   6. with MPICC, the compiler of an MPI that loads libfabric.so.1 dynamically, `matchbench mpi conform` finds no
#      violation of the order of matching over the provider shm.
#
# Environment: PROGRAMS, random programs of each run (default 300); RUNS of each measurement (default 20); SEED; MPICC;
# CONFORM_PROGRAMS (default 1000) and BUDGET (default 5m) for each number of ranks; MATCHBENCH, the command (default
# that of this repository).
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath -m "${1:-$root/out/libfabric}")
results=$(realpath -m "${2:-$build/results}")
matchbench=${MATCHBENCH:-$root/.venv/bin/matchbench}
PROGRAMS=${PROGRAMS:-300} SEED=${SEED:-$(date +%Y%m%d)} CONFORM_PROGRAMS=${CONFORM_PROGRAMS:-1000} BUDGET=${BUDGET:-5m}
export FI_TCP_IFACE=lo
failed=0

refuse() {
  echo "check.sh: $1" >&2
  failed=1
}

[ -e "$build/version" ] || {
  echo "check.sh: $build: found no file version, expected the output of build.sh" >&2
  exit 2
}
mkdir -p "$results/bin"
for program in random known depth reuse; do
  ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -I"$build/plain/include" -o "$results/bin/$program" "$here/tests/$program.c" \
    "$here/tests/reference.c" "$here/tests/endpoints.c" -L"$build/plain/lib" -lfabric || exit 2
done

# with LIBRARY COMMAND...: with one of the libraries of BUILD.
with() {
  local library=$1
  shift
  LD_LIBRARY_PATH=$build/$library/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 3600 "$@"
}

for fault in "$build"/fault-*; do
  name=$(basename "$fault")
  with "$name" "$results/bin/random" --arrival-order --programs "$PROGRAMS" --seed "$SEED" >"$results/$name.txt" 2>&1
  status=$?
  if [ $status = 0 ]; then
    # Addresses are not used again in random programs.
    with "$name" "$results/bin/reuse" >>"$results/$name.txt" 2>&1
    status=$?
  fi
  if [ $status = 1 ]; then echo "$name: found"; else refuse "$name is not found: see $results/$name.txt"; fi
done

agree() { # agree LIBRARY NAME ARGUMENT...
  local library=$1 log=$results/random-$1-$2.txt
  shift 2
  if with "$library" "$results/bin/random" --arrival-order --seed "$SEED" "$@" >"$log" 2>&1; then cat "$log"; else refuse "a random program fails: see $log"; fi
}
for library in mbmatch long; do
  agree $library shm --programs "$PROGRAMS"
  agree $library shm-undirected --programs "$PROGRAMS" --undirected
  agree $library shm-truncate --programs "$PROGRAMS" --truncate
  agree $library shm-long --programs $((PROGRAMS / 10 + 1)) --operations 400
done
for library in mbmatch long; do
  if with $library "$results/bin/reuse" >"$results/reuse-$library.txt" 2>&1; then cat "$results/reuse-$library.txt"; else
    refuse "a sender that becomes known: see $results/reuse-$library.txt"
  fi
done
with plain "$results/bin/reuse" >"$results/reuse-plain.txt" 2>&1
# TCP has a connection for each pair of endpoints, which takes most of the time.
agree mbmatch rxm --programs $((PROGRAMS / 10 + 1)) --provider "tcp;ofi_rxm"

with plain "$results/bin/known" >"$results/known-plain.txt" 2>&1
with mbmatch "$results/bin/known" >"$results/known-mbmatch.txt" 2>&1
# The last case is one of the provider shm, not of its receive queues.
head -n -1 "$results/known-mbmatch.txt" | grep -v 'as documented$' && refuse "a case is not as documented: see $results/known-mbmatch.txt"
echo "known cases: $(grep -c 'as documented$' "$results/known-plain.txt") of $(wc -l <"$results/known-plain.txt") as documented before, $(grep -c 'as documented$' "$results/known-mbmatch.txt") on mbmatch"

# fabtest NAME ARGUMENT...: server and client of one of libfabric's own tests. With -E they exchange addresses over TCP:
# those of shm are not addresses of a host.
fabtest() {
  local name=$1 log=$results/fabtests-${provider//;/-}-$1 server client
  shift
  with mbmatch timeout 120 "$build/fabtests/bin/$name" -E -p "$provider" "$@" >"$log-server.txt" 2>&1 &
  server=$!
  sleep 1
  with mbmatch timeout 120 "$build/fabtests/bin/$name" -E -p "$provider" "$@" 127.0.0.1 >"$log-client.txt" 2>&1
  client=$?
  wait "$server"
  server=$?
  # 124 is the time limit.
  [ $client$server = 00 ] || refuse "$name over $provider ends with status $client, its server with $server: see $log-*.txt"
}
if [ -d "$build/fabtests/bin" ]; then
  for provider in shm "tcp;ofi_rxm"; do
    fabtest fi_rdm_tagged_peek
    fabtest fi_rdm_tagged_pingpong -I 100 -S 64
    fabtest fi_rdm_tagged_bw -I 200
    fabtest fi_rdm_pingpong -I 100 -S 64
    fabtest fi_multi_recv -e rdm -I 200
    fabtest fi_recv_cancel -e rdm
    fabtest fi_unexpected_msg -e rdm -I 10
    fabtest fi_rdm
  done
  [ $failed = 1 ] || echo "libfabric's own tests: passed"
fi

python3 "$here/measure.py" "$build" "$results" "${RUNS:-20}" || failed=1

if [ -n "${MPICC:-}" ]; then
  # What fails on the unmodified library too (README.md).
  known=(--without null --without truncation --without isendrecv --without partitioned --without long --without synchronous)
  export MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=shm
  # A fault of MPICH, not of either library: it is reported and does not fail the check.
  "$MPICC" -std=gnu11 -O2 -Wall -Wextra -Werror -o "$results/bin/any_source" "$here/tests/any_source.c" || exit 2
  for library in plain mbmatch; do
    with $library "$(dirname "$MPICC")/mpirun" -n 2 "$results/bin/any_source" \
      >"$results/any_source-$library.txt" 2>&1 </dev/null
    echo "a receive from any source, $library: $(grep -m 1 -e '^round' -e '^passed' "$results/any_source-$library.txt")"
  done
  # Ranks that wait poll. With this setting of MPICH they sleep between polls, so that ranks beside other work, or more
  # of them than processors, do not wait for each other's turn on a processor. The program above then passes.
  export MPIR_CVAR_ENABLE_HEAVY_YIELD=1
  for ranks in 2 3 4; do
    log=$results/conform-$ranks
    with mbmatch "$matchbench" mpi conform --force "${known[@]}" --mpicc "$MPICC" \
      --programs "$CONFORM_PROGRAMS" --ranks $ranks --seed "$SEED" --budget "$BUDGET" -o "$log" >"$log.txt" 2>&1 </dev/null
    [ $? != 2 ] || refuse "conform did not run: see $log.txt"
    if grep -q '"kind": "\(order\|defect\)"' "$log/mpi-conform.json"; then
      refuse "the order of matching is violated on $ranks ranks: see $log.txt"
    else
      echo "conform, $ranks ranks: $(grep -m 1 '^failed' "$log.txt")"
    fi
  done
fi
exit $failed
