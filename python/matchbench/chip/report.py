# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What `matchbench chip run` reports of a run with time."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from matchbench.display import tables
from matchbench.native_types import ChipRegion, ChipRun

# Seconds: shorter runs show no progress, and longer ones this often.
_BEFORE_PROGRESS = 1.0
_BETWEEN_PROGRESS = 0.2

# Rows of counts: heading, and its counts with their words.
_ROWS = (
    (
        "L1 misses",
        (("l1_load_misses", "loads"), ("l1_store_misses", "stores"), ("l1_fetch_misses", "fetches")),
    ),
    (
        "misses of cores",
        (
            ("l2_local", "own L2"),
            ("l2_private", "other cache"),
            ("l2_global", "memory"),
            ("l2_upgrades", "rights"),
        ),
    ),
    (
        "misses of devices",
        (("device_local", "own L2"), ("device_private", "other cache"), ("device_global", "memory")),
    ),
    (
        "switch",
        (
            ("coherence_messages", "coherence"),
            ("device_messages", "of devices"),
            ("switch_link_cycles", "link cycles"),
        ),
    ),
    ("memory", (("memory_reads", "reads"), ("memory_writes", "writes"))),
    (
        "devices",
        (
            ("messages", "messages"),
            ("message_bytes", "bytes"),
            ("refused", "refused"),
            ("revoked", "revoked"),
        ),
    ),
)


def measured(found: ChipRun) -> list[ChipRegion]:
    """Return the regions that a program marked for timing; all of them if it marked none."""
    timing = [region for region in found["regions"] if region["kind"] == "timing"]
    return timing or found["regions"]


def show(found: ChipRun) -> None:
    """Print cycles, instructions, misses and where cycles went, of the measured part of a run."""
    regions = measured(found)
    if not regions:
        tables.note("timing: no part of the program was executed with time")
        return
    cycles = sum(region["cycles"] for region in regions)
    counts: dict[str, int] = {}
    for region in regions:
        for name, value in region["counts"]:
            counts[name] = counts.get(name, 0) + value
    user, kernel = counts["user_instructions"], counts["kernel_instructions"]
    cores = len(regions[0]["cores"])
    ipc = (user + kernel) / (cycles * cores) if cycles else 0
    parts = "" if len(regions) == 1 else f" in {len(regions)} parts"
    place = f"{parts} from cycle {tables.count(regions[0]['begin'])} on"
    tables.note(
        f"timing: {tables.count(cycles)} cycles{place}, {tables.count(user)} user instructions, "
        f"{tables.count(kernel)} kernel instructions, {tables.decimal(ipc)} of a core in a cycle"
    )
    for heading, columns in _ROWS:
        words = [f"{tables.count(counts[name])} {word}" for name, word in columns]
        tables.note(f"{heading}: {', '.join(words)}")
    _show_activities(regions)


def without_cycles(found: ChipRun, interval: tuple[int, int]) -> str | None:
    """Return what is wrong with an interval of cycles in which nothing was executed with time, or None."""
    spans = [(region["begin"], region["begin"] + region["cycles"]) for region in found["regions"]]
    if any(interval[0] <= last and first < interval[1] for first, last in spans):
        return None
    if not spans:
        return "found no part of the program with time; expected one, as with --mode timing"
    first, last = spans[0][0], spans[-1][1]
    return (
        f"found cycles {interval[0]} to {interval[1]}, expected some of the part with time, {first} to {last}"
    )


def _show_activities(regions: list[ChipRegion]) -> None:
    """Print the share of each activity in the cycles of each process."""
    names = [name for name, _ in regions[0]["ranks"][0][2]]
    sums = [[0] * len(names) for _ in regions[0]["ranks"]]
    for region in regions:
        for row, (_, _, cycles) in zip(sums, region["ranks"], strict=True):
            for at, (_, value) in enumerate(cycles):
                row[at] += value
    names = names[:-1]  # idle belongs to no process
    tables.note("  ".join(f"{name:>9}" for name in ["program", "rank", *names]))
    for (program, rank, _), row in zip(regions[0]["ranks"], sums, strict=True):
        total = sum(row)
        shares = [tables.share(value / total if total else None) for value in row[:-1]]
        tables.note("  ".join(f"{word:>9}" for word in [str(program), str(rank), *shares]))


@contextlib.contextmanager
def progress() -> Iterator[Callable[[int, int, bool], None] | None]:
    """Yield what shows time and instructions on the last line of a terminal, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    start = time.monotonic()
    told = start + _BEFORE_PROGRESS - _BETWEEN_PROGRESS

    def tell(done: int, instructions: int, has_time: bool) -> None:
        nonlocal told
        moment = time.monotonic()
        if moment - told < _BETWEEN_PROGRESS:
            return
        told = moment
        unit = "cycles" if has_time else "instructions of a core, without time"
        rate = instructions / (moment - start) / 1e6
        tables.progress(
            f"{done / 1e6:.1f} million {unit}; {instructions / 1e6:.1f} million instructions, "
            f"{rate:.1f} million/s"
        )

    try:
        yield tell
    finally:
        if told > start + _BEFORE_PROGRESS - _BETWEEN_PROGRESS:
            tables.progress("")
