# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Replays on a cluster: Dask workers, which Slurm starts as jobs, or those of a running scheduler.

Every node sees the traces under the same paths, and has the same installation of matchbench. The traces'
hashes are checked there. A worker that ends early is replaced by a new job, and its replay is repeated.
Source: https://jobqueue.dask.org, class `SLURMCluster`; https://distributed.dask.org.
"""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from matchbench._native import MatchbenchError, version
from matchbench.display import tables
from matchbench.native_types import Report
from matchbench.sweep.cache import default_directory, module_hash
from matchbench.sweep.workers import Task, replay

_DEFAULTS = {"cores": 1, "processes": 1, "memory": "2 GiB", "walltime": "01:00:00"}
_WHOLE = {"cores", "processes", "job_cpu"}
_QUEUED = 2  # tasks sent to a worker in advance, so that it does not wait for the next one
_TOGETHER_S = 1.0  # seconds that the replays of one task take together, if they are short
_MOST_TOGETHER = 100
_ALLOWED_DEATHS = 10  # of workers that ran the same task
_CONNECT_S = 30


class ClusterWorkers:
    """Dask workers.

    Parameters
    ----------
    where
        `slurm`, or the address of a Dask scheduler, such as `tcp://host:8786`.
    count
        Workers that Slurm starts, one per job.
    options
        Of dask-jobqueue's `SLURMCluster`, such as `queue`, `account`, `memory` and `walltime`; its file
        `jobqueue.yaml` sets others.

    Raises
    ------
    MatchbenchError
        When Dask is not installed, there is no scheduler, or its module is another one.
    """

    def __init__(self, where: str, count: int, options: Mapping[str, str]) -> None:
        try:
            import dask
            import distributed
        except ImportError as error:
            msg = f"--cluster: {error}; install matchbench[cluster]"
            raise MatchbenchError(msg) from error
        dask.config.set({"distributed.scheduler.allowed-failures": _ALLOWED_DEATHS})
        self._count = count
        self._cluster = _slurm(count, options) if where == "slurm" else None
        try:
            self._client: Any = distributed.Client(self._cluster or where, timeout=_CONNECT_S)
        except (OSError, ValueError) as error:
            self._close_cluster()
            msg = (
                f"--cluster {where}: cannot connect: {error}; expected `slurm` or the address of a scheduler"
            )
            raise MatchbenchError(msg) from error
        tables.remark(f"workers and their progress: {self._client.dashboard_link}")

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Report]]:
        """Replay the tasks and yield each with its result, in the order in which they end.

        Raises
        ------
        MatchbenchError
            When a replay is refused, or too many workers ended early.
        """
        import distributed

        source = iter(tasks)
        size = 1
        under_way: dict[Any, list[Task]] = {}
        done = distributed.as_completed()

        def fill() -> None:
            while len(under_way) < self._count * _QUEUED and (group := list(itertools.islice(source, size))):
                future = self._client.submit(_replay_there, group, version(), module_hash(), pure=False)
                under_way[future] = group
                done.add(future)

        try:
            fill()
            for future in done:
                group = under_way.pop(future)
                answers, seconds = self._result(future, group[0])
                size = max(1, min(_MOST_TOGETHER, int(_TOGETHER_S * len(group) / max(seconds, 1e-9))))
                for task, answer in zip(group, answers, strict=True):
                    if isinstance(answer, str):
                        msg = f"{task.name}, on a worker: {answer}"
                        raise MatchbenchError(msg)
                    yield task, answer
                fill()
        finally:
            self._client.cancel(list(under_way))

    def _result(self, future: Any, first: Task) -> tuple[list[Report | str], float]:
        import distributed

        try:
            answer: tuple[list[Report | str], float] = future.result()
        except distributed.scheduler.KilledWorker as error:
            msg = (
                f"{first.name}: no result, {_ALLOWED_DEATHS} workers ended during it; "
                "give the jobs more memory"
            )
            raise MatchbenchError(msg) from error
        return answer

    def close(self) -> None:
        """End the workers that were started here; what they replay is lost."""
        self._client.close()
        self._close_cluster()

    def _close_cluster(self) -> None:
        if self._cluster is not None:
            self._cluster.close()


def _slurm(count: int, options: Mapping[str, str]) -> Any:
    try:
        with _kept_handlers():
            from dask_jobqueue import SLURMCluster
    except ImportError as error:
        msg = f"--cluster slurm: {error}; install matchbench[cluster]"
        raise MatchbenchError(msg) from error
    given: dict[str, Any] = {**_DEFAULTS, "log_directory": str(default_directory().parent / "slurm")}
    for key, value in options.items():
        if key in _WHOLE and not value.isdigit():
            msg = f"--cluster-set {key}: found `{value}`, expected a whole number"
            raise MatchbenchError(msg)
        given[key] = int(value) if key in _WHOLE else value
    try:
        cluster = SLURMCluster(python=sys.executable, **given)
    except (TypeError, ValueError) as error:
        msg = f"--cluster-set: {error}"
        raise MatchbenchError(msg) from error
    try:
        _check_script(cluster.job_script())
    except BaseException:
        cluster.close()
        raise
    # Not `scale`: that does not replace a job that ended.
    cluster.adapt(minimum_jobs=count, maximum_jobs=count)
    return cluster


@contextmanager
def _kept_handlers() -> Iterator[None]:
    """Restore the handlers of signals: dask-jobqueue 0.9 sets its own when it is imported."""
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _check_script(script: str) -> None:
    """Have Slurm check the job: Dask would submit a job that is refused again and again."""
    try:
        done = subprocess.run(
            ["sbatch", "--test-only"],  # noqa: S607 - the user's Slurm
            input=script,
            capture_output=True,
            text=True,
            check=False,
            timeout=_CONNECT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        msg = f"--cluster slurm: cannot run sbatch: {error}; expected the commands of Slurm on this host"
        raise MatchbenchError(msg) from error
    if done.returncode:
        msg = f"--cluster slurm: Slurm refuses the job: {done.stderr.strip()}; change it with --cluster-set"
        raise MatchbenchError(msg)


def _replay_there(
    tasks: list[Task], expected_version: str, expected_module: str
) -> tuple[list[Report | str], float]:
    """Replay on a worker; return results or messages of errors, and the seconds that all took.

    Exceptions of the module do not travel.
    """
    if module_hash() != expected_module:
        other = (
            f"its matchbench {version()} is another build than {expected_version} here; install the same one"
        )
        return [other] * len(tasks), 0.0
    start = time.perf_counter()
    answers: list[Report | str] = []
    for task in tasks:
        try:
            answers.append(replay(task))
        except MatchbenchError as error:
            answers.append(str(error))
    return answers, time.perf_counter() - start
