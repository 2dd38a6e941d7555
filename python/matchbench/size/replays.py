# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The replays of `matchbench size`, one after the other, with progress over all of them."""

from matchbench import interruptible
from matchbench._native import Engine, Network
from matchbench.compare.replay_config import ReplayConfig
from matchbench.engines import own_engines
from matchbench.native_types import Progress, Report
from matchbench.trace.trace import Trace


class Replays:
    """Replays of one command, and how many are done.

    Parameters
    ----------
    network, config
        How to replay.
    total
        Replays of the whole command, at most.
    progress
        Called as `progress(done, total)` in thousandths of replays.
    """

    def __init__(self, network: Network, config: ReplayConfig, total: int, progress: Progress | None) -> None:
        self.network = network
        self.config = config
        self.total = total
        self.progress = progress
        self.done = 0

    def run(self, trace: Trace, engine: Engine, buckets: list[int] | None) -> Report:
        """Replay a trace on an engine, and count what divided queues need for these numbers of buckets."""

        def told(done: int, total: int) -> None:
            if self.progress:
                self.progress(1000 * self.done + 1000 * done // max(total, 1), 1000 * self.total)

        report = interruptible.run(
            lambda tell: own_engines.replay(
                trace,
                engine,
                self.network,
                rules=self.config.rules(),
                sizing=buckets,
                progress=tell,
            ),
            told,
        )
        self.done = min(self.done + 1, self.total)
        return report

    def end(self) -> None:
        """Say that all are done; there may have been fewer than `total`."""
        if self.progress:
            self.progress(1000 * self.total, 1000 * self.total)
