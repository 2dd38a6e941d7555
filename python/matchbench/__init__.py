# SPDX-License-Identifier: Apache-2.0 OR MIT
"""matchbench: what message matching costs an MPI program, engine by engine.

>>> import matchbench as mb
>>> trace = mb.Trace.open("traces/halo3d-64.tar.xz")  # doctest: +SKIP
>>> mb.compare(trace, ["ideal", "linear:qsnet2"]).results  # doctest: +SKIP

`docs/python.md` shows more.
"""

from matchbench._native import (
    Engine,
    MatchbenchError,
    Network,
    TraceError,
    engines,
    networks,
    revision,
    version,
)
from matchbench.compare import choose_engines, compare
from matchbench.comparison import Comparison, Remark
from matchbench.generate import generate
from matchbench.record import Recording, record
from matchbench.replay_config import ReplayConfig
from matchbench.reproduce import Reproduction, reproduce
from matchbench.trace import Trace, TraceStats

__version__ = version()

__all__ = [
    "Comparison",
    "Engine",
    "MatchbenchError",
    "Network",
    "Recording",
    "Remark",
    "ReplayConfig",
    "Reproduction",
    "Trace",
    "TraceError",
    "TraceStats",
    "__version__",
    "choose_engines",
    "compare",
    "engines",
    "generate",
    "networks",
    "record",
    "reproduce",
    "revision",
]
