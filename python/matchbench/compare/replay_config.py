# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How traces are replayed, independent of the engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from matchbench import _native
from matchbench._native import MatchbenchError
from matchbench.arguments import FLAG, MAPPING, NUMBER, TEXT, expect, one_of
from matchbench.native_types import Rules, Value

_KINDS = {
    "network": TEXT,
    "network_parameters": MAPPING,
    "cpu_scale": NUMBER,
    "free_wildcards": FLAG,
    "recorded_polls": FLAG,
    "poll_work_ns": NUMBER,
    "collectives": MAPPING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayConfig:
    """How traces are replayed, independent of the engine.

    Parameters
    ----------
    network
        A network preset; the first one by default.
    network_parameters
        Values that replace the preset's: numbers in the parameter's unit, or text with a unit or without.
    cpu_scale
        Factor on recorded compute time; 0 replays communication alone.
    free_wildcards
        Let wildcard receives match the first message that arrives, not the one of the recording.
    recorded_polls
        Keep the computation between unsuccessful tests and probes, as often as the recorded machine polled;
        without it, a loop of polls waits for the event that ended it.
    poll_work_ns
        Computation between two polls, in ns, from which it is work that the program does beside waiting, and
        is kept.
    collectives
        Algorithm by collective, where it is not the default.
    """

    network: str = field(default_factory=lambda: _native.networks()[0][0])
    network_parameters: Mapping[str, Value] = field(default_factory=dict)
    cpu_scale: float = 1.0
    free_wildcards: bool = False
    recorded_polls: bool = False
    poll_work_ns: float = field(default_factory=_native.poll_work_ns)
    collectives: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check types, ranges and names."""
        for name, kind in _KINDS.items():
            expect(name, getattr(self, name), kind)
        if not 0 <= self.cpu_scale <= 1e6:
            msg = f"cpu_scale: found {self.cpu_scale}, expected 0 to 1000000"
            raise MatchbenchError(msg)
        if not 0 <= self.poll_work_ns <= 1e9:
            msg = f"poll_work_ns: found {self.poll_work_ns}, expected 0 to 1000000000"
            raise MatchbenchError(msg)
        known = dict(_native.collectives())
        for collective, algorithm in self.collectives.items():
            if collective not in known:
                raise MatchbenchError(_native.unknown_name("collective", collective, list(known)))
            if algorithm not in known[collective]:
                unknown = _native.unknown_name("algorithm", algorithm, known[collective])
                msg = f"collective `{collective}`: {unknown}"
                raise MatchbenchError(msg)

    def rules(self) -> Rules:
        """Give what the module of the replay needs to know about calls."""
        return {
            "cpu_scale": self.cpu_scale,
            "free_wildcards": self.free_wildcards,
            "recorded_polls": self.recorded_polls,
            "poll_work_ns": self.poll_work_ns,
            "collectives": sorted(self.collectives.items()),
        }


CONFIG = one_of("a ReplayConfig", ReplayConfig)
