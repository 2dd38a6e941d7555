# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Packet rates of the SMT under every schedule of the study; README.md has the question and the answer.

usage: schedules.py FILE

FILE keeps a line for each run; a run whose line it has is not repeated.
"""

import csv
import math
import sys
import time
from pathlib import Path

from matchbench.netproc import machine as netproc

PACKETS = {"null": 600, "router": 400, "web_switch": 400, "vpn": 120}
"""Scenario -> packets. 3DES dominates the VPN node, with 14 times the cycles of a router's packet."""

SINGLE = {
    "as published": {},
    "OS thread fetches first": {"priorities": "os_first"},
    "workers fetch first": {"priorities": "workers_first"},
    "threads in fixed order": {"priorities": "ascending"},
    "workers in fixed order, OS thread last": {"priorities": "workers_ascending"},
    "round robin": {"fetch_policy": "round_robin"},
    "1 thread fetches in a cycle": {"fetch_threads": "1"},
    "4 threads fetch in a cycle": {"fetch_threads": "4"},
    "OS thread waits": {"os_idle": "wait"},
    "workers spin": {"idle": "spin"},
    "every thread receives": {"os": "spread"},
    "OS thread classifies": {"classify_in": "os"},
    **{f"{threads} threads": {"contexts": str(threads)} for threads in range(2, 8)},
}
"""One change of the schedule each."""

TOGETHER = {
    "OS thread waits and fetches first": {"os_idle": "wait", "priorities": "os_first"},
    "OS thread waits, workers fetch first": {"os_idle": "wait", "priorities": "workers_first"},
    "OS thread waits, threads in fixed order": {"os_idle": "wait", "priorities": "ascending"},
    "OS thread waits, 4 threads fetch": {"os_idle": "wait", "fetch_threads": "4"},
    "every thread receives, and waits": {"os": "spread", "os_idle": "wait"},
    "every thread receives and waits, fixed order": {
        "os": "spread",
        "os_idle": "wait",
        "priorities": "ascending",
    },
    "every thread receives and waits, 4 fetch": {"os": "spread", "os_idle": "wait", "fetch_threads": "4"},
    "every thread receives and waits, 4 threads": {"os": "spread", "os_idle": "wait", "contexts": "4"},
    "every thread receives and waits, 6 threads": {"os": "spread", "os_idle": "wait", "contexts": "6"},
}
"""Changes that help, together and with priorities."""

BEST = "every thread receives, and waits"
"""The schedule whose fastest windows are printed."""

CMP2 = "CMP2 with as many units"
"""No schedule: the processor whose fastest windows the paper compares with."""

COLUMNS = ["schedule", "scenario", "packets_per_second", "fastest_100", "host_seconds"]


def main(path: Path) -> None:
    """Make the runs that `path` lacks, and print the table."""
    found = {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            found = {(row["schedule"], row["scenario"]): row for row in csv.DictReader(file)}
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    schedules = SINGLE | TOGETHER
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        for schedule, parameters in ({CMP2: {}} | schedules).items():
            for scenario, packets in PACKETS.items():
                if (schedule, scenario) not in found:
                    architecture = "cmp2_4" if schedule == CMP2 else "smt8"
                    row = run(architecture, scenario, packets, parameters)
                    row |= {"schedule": schedule, "scenario": scenario}
                    found[schedule, scenario] = row
                    writer.writerow(row)
                    file.flush()
    show(found, list(schedules))
    show_best(found, list(schedules))


def run(architecture: str, scenario: str, packets: int, parameters: dict[str, str]) -> dict[str, str]:
    """Run a scenario on a processor with eight units; every decision of every packet is checked."""
    begin = time.process_time()
    traffic = netproc.traffic(scenario, packets=packets)
    result = netproc.run(architecture, traffic, parameters=parameters)
    if not result.passed:
        sys.exit(f"{scenario} with {parameters}: {result.report['error'] or 'a decision is wrong'}")
    fastest = max(result.report["windows"]["packets_per_second"])
    return {
        "packets_per_second": f"{result.packets_per_second:.0f}",
        "fastest_100": f"{fastest:.0f}",
        "host_seconds": f"{time.process_time() - begin:.2f}",
    }


Rows = dict[tuple[str, str], dict[str, str]]


def relative(found: Rows, schedule: str, scenario: str, column: str = "packets_per_second") -> float:
    """Return a rate relative to that of the schedule as published."""
    base = next(iter(SINGLE))
    return float(found[schedule, scenario][column]) / float(found[base, scenario]["packets_per_second"])


def mean(found: Rows, schedule: str) -> float:
    """Return the geometric mean of the relative rates of all scenarios."""
    return math.prod(relative(found, schedule, scenario) for scenario in PACKETS) ** (1 / len(PACKETS))


def show_best(found: Rows, schedules: list[str]) -> None:
    """Print the best schedule of each scenario and of all, and what the runs took."""
    print()
    for scenario in PACKETS:
        best = max(schedules, key=lambda schedule, on=scenario: relative(found, schedule, on))
        print(f"{scenario}: {best} ({relative(found, best, scenario):.2f})")
    best = max(schedules, key=lambda schedule: mean(found, schedule))
    print(f"all: {best} ({mean(found, best):.2f})")
    seconds = sum(float(row["host_seconds"]) for row in found.values())
    print(f"{len(found)} runs, {seconds:.0f} seconds of one host processor")


def show(found: Rows, schedules: list[str]) -> None:
    """Print rates relative to the first schedule, and its fastest windows."""
    print(f"| schedule | {' | '.join(PACKETS)} | geometric mean |")
    print("|---|" + "---:|" * (len(PACKETS) + 1))
    for schedule in schedules:
        rates = [relative(found, schedule, scenario) for scenario in PACKETS]
        print(f"| {schedule} | {' | '.join(f'{rate:.2f}' for rate in rates)} | {mean(found, schedule):.2f} |")
    print(f"| {CMP2} | {' | '.join(f'{relative(found, CMP2, each):.2f}' for each in PACKETS)} | |")
    for name in (schedules[0], BEST, CMP2):
        rates = [relative(found, name, scenario, "fastest_100") for scenario in PACKETS]
        print(f"| fastest 100 packets: {name} | {' | '.join(f'{rate:.2f}' for rate in rates)} | |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: schedules.py FILE")
    main(Path(sys.argv[1]))
