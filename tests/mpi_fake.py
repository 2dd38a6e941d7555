# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A fake of `bench.c` whose times follow a formula, and which can fail in several ways.

`FAKE_MPI` selects the failure: `hang:DEPTH`, `die:DEPTH`, `rubbish:DEPTH`, `alone`, `mute` or `root`;
`wait:SERIES` stops in a series. `FAKE_MPI_CPU` is the name of the processor, and the file `FAKE_MPI_LOG` gets
a line for each run.
"""

import json
import os
import sys
import time
from typing import Any

ENTRY_NS = {"preposted": 2.0, "unexpected": 1.5, "probe": 1.5, "drain_posted": 1.0, "drain_unexpected": 0.75}
BASE_NS = {
    "preposted": 500.0,
    "unexpected": 40.0,
    "probe": 30.0,
    "drain_posted": 90.0,
    "drain_unexpected": 25.0,
}
FLAT = ("sources", "communicators", "in_order")


def say(**event: Any) -> None:
    """Print one line of the protocol."""
    print("@matchbench-mpi " + json.dumps(event), flush=True)


def main() -> int:
    """Print the events of one run of `bench.c`."""
    series, depths, sweeps, *_ = sys.argv[1:]
    what, _, at = os.environ.get("FAKE_MPI", "").partition(":")
    if log := os.environ.get("FAKE_MPI_LOG"):
        with open(log, "a") as file:  # noqa: PTH123 - starts in a tenth of the time without pathlib
            file.write(f"{series}\n")
    if what == "alone":
        say(event="error", ranks=1, text="started as a program of one rank")
        return 2
    if what == "mute":
        time.sleep(60)
    if what == "root":
        print("mpirun has detected an attempt to run as root.", file=sys.stderr)
        return 1
    say(
        event="hello",
        ranks=2,
        standard="4.1",
        library="Fake MPI 1.0\nfor tests",
        hosts=["a", "b"],
        cpu=os.environ.get("FAKE_MPI_CPU", "none"),
        pinned=[0, -1],
        pinned_by="launcher",
        clock_ns=20.0,
        libraries=["libmpi.so.1"],
        components=["pml_fake"],
        environment=["UCX_TLS=none"],
    )
    kind, _, pattern = series.partition("/")
    numbers = [int(depth) for depth in depths.split(",")]
    if kind == "memory":
        say(event="memory", items=numbers[0], before=0, full=768 * numbers[0], after=192 * numbers[0])
        say(event="end")
        return 0
    print("a word of the launcher's own")
    if what == "wait" and series == at:
        time.sleep(60)
    for sweep in range(int(sweeps)):
        for depth in numbers:
            for timed in (
                [kind, "probe"] if series in ("unexpected/tags", "unexpected/any_source") else [kind]
            ):
                say(event="begin", kind=timed, depth=depth, sweep=sweep)
                if series == "preposted/tags" and what and at == str(depth):
                    if what == "die":
                        os.abort()
                    if what == "rubbish":
                        print("@matchbench-mpi {not a line}", flush=True)
                    time.sleep(60)
                entry = 0.0 if pattern in FLAT else ENTRY_NS[timed]
                ns = BASE_NS[timed] + entry * depth
                say(event="sample", kind=timed, depth=depth, sweep=sweep, ns=ns, operations=10)
    say(event="end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
