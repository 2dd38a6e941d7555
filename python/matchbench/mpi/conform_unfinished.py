# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The state of an unfinished `matchbench mpi conform`, kept in a file beside the output until it is complete.

The first line has what is searched and the checksum of the second line, which is the state of the search
(`_Search.state` in `conform.py`). The file is replaced as a whole after each job.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matchbench._native import MatchbenchError, revision, version
from matchbench.display.output import write_files
from matchbench.input import read_bytes, read_text
from matchbench.mpi.conform_plan import Plan
from matchbench.mpi.launch import Mpi
from matchbench.mpi.stack import lasting_environment

FORMAT = "matchbench-mpi-conform-unfinished"
VERSION = 2


@dataclass(slots=True)
class Unfinished:
    """The state of a search that is not finished.

    Parameters
    ----------
    path
        The file.
    head
        What is searched: the content of its first line, without the checksum.
    state
        The last state; none before the first job has ended.
    report
        Checksum of the report of the interrupted run, which the run that continues it replaces.
    """

    path: Path
    head: Mapping[str, Any]
    state: Mapping[str, Any] | None = None
    report: str | None = None

    def keep(self, state: Mapping[str, Any]) -> None:
        """Replace the state.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        self.state = state
        text = json.dumps(state)
        head = {**self.head, "report": self.report, "sha256": _checksum(text.encode())}
        write_files({self.path: f"{json.dumps(head)}\n{text}\n"}, force=True)

    def add_report(self, report: Path) -> None:
        """Note the report of the interrupted run."""
        if self.state is not None:
            self.report = _checksum(read_bytes(report, "a report"))
            self.keep(self.state)

    def has_written(self, report: Path) -> bool:
        """Return whether a report is that of the interrupted run."""
        if self.report is None or not report.is_file():
            return False
        return self.report == _checksum(read_bytes(report, "a report"))

    def remove(self) -> None:
        """Remove the file: the search is finished."""
        self.path.unlink(missing_ok=True)


def unfinished(output: Path, mpi: Mpi, plan: Plan, *, force: bool) -> Unfinished:
    """Read the state that an interrupted run of the same command has left, if there is one.

    The file is `.NAME.unfinished` beside the output.

    Parameters
    ----------
    output
        Directory of the results.
    mpi, plan
        What is searched.
    force
        Discard the state of another command.

    Raises
    ------
    MatchbenchError
        If the file holds the state of another command, or is not such a file.
    """
    head = {
        "format": FORMAT,
        "version": VERSION,
        "matchbench": [version(), revision()],
        "compiler": mpi.compiler,
        "launcher": list(mpi.launcher),
        "environment": lasting_environment(mpi),
        "plan": json.loads(json.dumps(asdict(plan))),
    }
    found = Unfinished(output.absolute().with_name(f".{output.name}.unfinished"), head)
    if not found.path.exists():
        return found
    try:
        content = read_text(found.path, "the state of an interrupted search", kind="binary")
        first, text, end = content.split("\n")
        earlier = json.loads(first)
        if earlier["format"] != FORMAT or earlier["sha256"] != _checksum(text.encode()) or end:
            raise ValueError
        found.state, found.report = json.loads(text), earlier["report"]
    except (MatchbenchError, ValueError, TypeError, KeyError, RecursionError) as error:
        msg = (
            f"{found.path}: found another kind of file, expected the state of an interrupted "
            "`matchbench mpi conform`; remove it to start over"
        )
        raise MatchbenchError(msg) from error
    if different := [
        _difference(key, earlier.get(key), head[key]) for key in head if earlier.get(key) != head[key]
    ]:
        found.state = found.report = None
        if not force:
            msg = (
                f"{found.path}: holds the state of an interrupted search with another "
                f"{', '.join(different)}; "
                "repeat that command, choose another directory, or give --force to discard it"
            )
            raise MatchbenchError(msg)
        found.remove()
    return found


def _difference(key: str, earlier: Any, now: Any) -> str:
    """Name what is different, as precisely as it is known."""
    if not isinstance(earlier, dict) or not isinstance(now, dict):
        return key
    names = [name for name in dict.fromkeys((*earlier, *now)) if earlier.get(name) != now.get(name)]
    return f"{key} ({', '.join(names)})"


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
