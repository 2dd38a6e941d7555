# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A sweep from Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from matchbench.arguments import CALLBACK, FLAG, PATH, WHOLE, checked, one_of
from matchbench.sweep.cache import Cache, default_directory
from matchbench.sweep.hardware import Costs
from matchbench.sweep.result import Sweep, result_of
from matchbench.sweep.run import Status, SweepRun
from matchbench.sweep.study import Study, read_study
from matchbench.sweep.workers import LocalWorkers, StartedWhenNeeded
from matchbench.trace.trace import Trace


@checked(
    study=one_of("a Study or the path of a study.toml", Study, str, os.PathLike),
    jobs=WHOLE,
    cache=PATH,
    areas=PATH,
    allow_code=FLAG,
    progress=CALLBACK,
)
def sweep(
    study: Study | str | os.PathLike[str],
    *,
    jobs: int = 2,
    cache: str | os.PathLike[str] | None = None,
    areas: str | os.PathLike[str] | None = None,
    allow_code: bool = False,
    progress: Callable[[Status], None] | None = None,
) -> Sweep:
    """Replay traces on many variants of engines.

    Processes are started, which import the main module of the program: its work must be under
    `if __name__ == "__main__":`.

    Parameters
    ----------
    study
        What to do, or the path of a `study.toml` (`docs/sweep.md`).
    jobs
        Processes.
    cache
        Directory of the results of replays; by default `matchbench/replays` in the user's cache folder.
    areas
        File with areas of hardware results.
    allow_code
        Let a file of a study name engines of files, which run when it does (`SECURITY.md`).
    progress
        Called after each replay.

    Returns
    -------
    Sweep
        The tables and the answer; its `write` writes them.

    Raises
    ------
    MatchbenchError
        When the study is wrong, or a trace is defective.

    Examples
    --------
    >>> sweep("studies/cam_entries/study.toml").answer  # doctest: +SKIP
    """
    study = study if isinstance(study, Study) else read_study(Path(study), allow_code=allow_code)
    with ExitStack() as stack:
        traces = [stack.enter_context(Trace.open(path)) for path in study.traces]
        workers = StartedWhenNeeded(lambda: LocalWorkers(max(1, jobs)))
        stack.callback(workers.close)
        run = SweepRun(
            study,
            traces,
            workers=workers,
            cache=Cache(Path(cache) if cache is not None else default_directory()),
            costs=Costs(Path(areas) if areas is not None else None),
            progress=progress,
        )
        run.work()
        return result_of(run)
