# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What `matchbench mpi bench` reads from curves: formulas, noise, and times of MPIs with known sources."""

import itertools
import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchbench.mpi.curves import FLAT_NS, Curve, curve, interval
from matchbench.mpi.structure import statements

GRID = (0, *(1 << power for power in range(15)))


def shaped(shape: Callable[[int], float], grid: Sequence[int] = GRID, sweeps: int = 7) -> Curve:
    """Make a curve of a formula, the same in each repetition."""
    return curve({depth: [shape(depth)] * sweeps for depth in grid})


@given(base=st.floats(20, 20_000), entry=st.floats(0.2, 500))
def test_a_line_gives_its_cost_and_its_break_even_depths(base: float, entry: float) -> None:
    said = shaped(lambda depth: base + entry * depth)
    assert said.verdict == "linear"
    assert not said.cliff
    assert said.base_ns == base
    costs = (said.entry_ns, said.entry_l1_ns, said.entry_l2_ns, said.entry_deep_ns)
    assert costs == pytest.approx([entry] * 4, rel=1e-6)
    for depth, times in ((said.tenth_depth, 1.1), (said.twice_depth, 2)):
        exact = (times - 1) * base / entry
        assert depth is None if exact > GRID[-1] else depth == pytest.approx(exact, rel=1e-6)


@given(base=st.floats(20, 2000), entry=st.floats(0, 10), seed=st.integers(0, 2**32 - 1))
def test_five_percent_noise_neither_hides_nor_creates_a_list(base: float, entry: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    said = curve({d: list((base + entry * d) * random.uniform(0.95, 1.05, 7)) for d in GRID})
    # The noise is at most 0.05 * (base / 1024 + entry) per entry, and as much of base's own.
    error = 0.15 * (base / 1024 + entry)
    if entry > FLAT_NS + error:
        assert said.verdict == "linear"
    elif entry < FLAT_NS - error:
        assert said.verdict == "flat"


def test_a_cliff_is_reported_and_a_step_between_caches_is_not() -> None:
    assert shaped(lambda depth: 500 + depth * (4 if depth < 16384 else 24)).cliff
    assert not shaped(lambda depth: 500 + depth * (1.5 if depth < 512 else 2.9)).cliff


def test_square_root_growth_is_sublinear_and_short_curves_are_undecided() -> None:
    root = shaped(lambda depth: 500 + 100 * depth**0.5)
    assert root.verdict == "sublinear"
    assert root.exponent == pytest.approx(0.5)
    assert shaped(lambda depth: 500 + 2 * depth, grid=(0, 64, 128)).verdict == "undecided"
    assert shaped(lambda _: 500, grid=(0,)).verdict == "undecided"
    # A rank that was off its processor at depth 0 makes nothing flat and nothing negative.
    unlucky = curve({d: [500 + 2 * d] * 7 if d else [500.0, *[24e6] * 6] for d in GRID})
    assert unlucky.verdict == "undecided"
    # Repetitions that disagree by more than a list costs.
    disagree = curve({d: [500 + slope * d for slope in (-2, -1, 0, 0.05, 1, 2, 3)] for d in GRID})
    assert disagree.verdict == "undecided"


@pytest.mark.parametrize("count", range(4, 13))
def test_the_interval_is_the_narrowest_that_contains_the_median(count: int) -> None:
    low, high = interval([float(value) for value in range(count)])
    leave = int(low)
    assert high == count - 1 - leave

    def held(leave: int) -> float:
        # Each value falls below the true median or not: all patterns, equally likely.
        patterns = itertools.product((0, 1), repeat=count)
        inside = sum(1 for side in patterns if leave < sum(side) < count - leave)
        return float(inside / 2**count)

    assert held(leave) >= 0.85
    assert held(leave + 1) < 0.85


# Round trips and receives in ns that were measured with other programs, at depths 0, 64, 256, 1024 and 4096.
MEASURED_DEPTHS = (0, 64, 256, 1024, 4096)
OB1_413 = {  # Open MPI 4.1.4, pml ob1
    "preposted/tags": (508, 613, 865, 4613, 15460),
    "preposted/sources": (515, 509, 532, 530, 527),
    "preposted/communicators": (511, 496, 504, 500, 500),
    "preposted/any_source": (515, 627, 928, 3708, 13301),
    "unexpected/tags": (41, 141, 373, 2778, 11028),
    "unexpected/sources": (43, 41, 43, 43, 47),
}
UCX = {  # Open MPI 4.1.4, pml ucx
    "preposted/tags": (659, 665, 666, 657, 655),
    "preposted/any_source": (660, 765, 1094, 3030, 11145),
    "preposted/target_any": (674, 678, 672, 686, 666),
    "unexpected/tags": (37, 37, 37, 43, 41),
    "unexpected/any_source": (31, 136, 420, 2578, 13163),
}
MPICH_SHM = {  # MPICH 5.0.2, ch4 posix
    "preposted/tags": (1226, 1310, 1822, 4462, 12591),
    "preposted/sources": (1416, 1484, 2263, 12577, 68560),
    "preposted/communicators": (1174, 1283, 1887, 4660, 14829),
}
OFI_SHM = {  # MPICH 5.0.2, ch4:ofi
    "preposted/tags": (1375, 1488, 2093, 3502, 8577),
    "preposted/sources": (1341, 1370, 1354, 1365, 1355),
    "preposted/communicators": (1410, 1460, 2037, 3462, 8547),
}


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (
            OB1_413,
            [
                r"Posted receives are walked .*: a list for each source of each communicator\.",
                r"Receives from any source slow messages of every source .*",
                r"Unexpected messages are walked .*; whether sources and communicators share lists is .*",
                r"A round trip is 10 % longer from 31 entries on, and twice as long from \d+ entries on\.",
            ],
        ),
        (
            UCX,
            [
                r"Posted receives are found by a key that holds the tag, .* less than 0\.01 ns each\.",
                r"Receives from any source are in a list that every message walks .*",
                r"Unexpected messages are found by a key that holds the tag, .* less than 0\.01 ns each\.",
                r"A receive from any source walks all unexpected messages .*",
                r"A round trip is not 10 % longer at any depth measured\.",
            ],
        ),
        (
            MPICH_SHM,
            [
                r"Posted receives are walked .*: one list for all sources and communicators\.",
                r"A round trip .*",
            ],
        ),
        (
            OFI_SHM,
            [
                r"Posted receives are walked .*: a list for each source, which all communicators share\.",
                r"A round trip .*",
            ],
        ),
    ],
)
def test_measured_curves_imply_the_structures_of_the_source_code(
    measured: dict[str, tuple[int, ...]], expected: list[str]
) -> None:
    curves = {
        name: curve({depth: [float(ns)] for depth, ns in zip(MEASURED_DEPTHS, times, strict=True)})
        for name, times in measured.items()
    }
    said = statements(curves)
    assert len(said) == len(expected), said
    for sentence, pattern in zip(said, expected, strict=True):
        assert re.fullmatch(pattern, sentence), sentence


def test_fragmented_pools_and_drain_orders_are_reported_only_above_their_ratios() -> None:
    curves = {
        "preposted/tags": shaped(lambda depth: 500 + 2 * depth),
        "preposted/aged": shaped(lambda depth: 500 + 6 * depth),
    }
    drains = {
        "drain_posted/in_order": {8: 90.0, 512: 90.0},
        "drain_posted/reverse": {8: 90.0, 512: 900.0},
        "drain_unexpected/in_order": {512: 20.0},
        "drain_unexpected/reverse": {512: 30.0},
    }
    spreads = {"preposted/tags": 0.1, "probe/tags": 1.5}
    assert statements(curves, drains, spreads)[1:] == [
        "Posted receives from a fragmented pool cost 3 times as much at 1024 to 4096 entries: "
        "6 ns per entry.",
        "Posted receives from a fragmented pool cost 3 times as much from 16 384 entries on: 6 ns per entry.",
        "A round trip is 10 % longer from 25 entries on, and twice as long from 250 entries on.",
        "512 posted receives drain in reverse order in 10 times the time that they take in order.",
        "1 of 2 series have times that vary by half of their median or more (probe/tags): the machine was "
        "busy, and costs are noisy.",
    ]
    noisy = {"preposted/aged": 0.3, "drain_posted/reverse": 0.3}
    assert statements(curves, drains, noisy)[1:] == [
        "A round trip is 10 % longer from 25 entries on, and twice as long from 250 entries on.",
        "2 of 2 series have times that vary by half of their median or more (preposted/aged, "
        "drain_posted/reverse): the machine was busy, and costs are noisy.",
    ]
