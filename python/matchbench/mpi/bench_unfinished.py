# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Series of an unfinished `matchbench mpi bench`, kept in a file beside the output until it is complete.

The first line describes the measurement, each other one has a finished series: the lines of its run in the
protocol of `bench_protocol`. A last line that is cut off, by a killed process or a full disk, is ignored.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from matchbench._native import MatchbenchError, version
from matchbench.display.output import append_lines, write_files
from matchbench.input import read_bytes
from matchbench.mpi.bench import Plan, SeriesRun
from matchbench.mpi.bench_protocol import Hello, RunOutput
from matchbench.mpi.launch import Mpi

FORMAT = "matchbench-mpi-bench-unfinished"
VERSION = 1


@dataclass(slots=True)
class Unfinished:
    """Finished series of a measurement that is not finished.

    Parameters
    ----------
    path
        The file.
    head
        What is measured: the content of its first line.
    runs
        Finished series by name.
    """

    path: Path
    head: Mapping[str, Any]
    runs: dict[str, SeriesRun] = field(default_factory=dict)

    def keep(self, name: str, run: SeriesRun) -> None:
        """Add a finished series to the file.

        Raises
        ------
        MatchbenchError
            If it was measured at another place than those before.
        OSError
            If the file cannot be written.
        """
        check_place(self.path, self.runs, run)
        self.runs[name] = run
        line = {"series": name, "remark": run.remark, "lines": run.output.lines}
        is_new = not self.path.exists()
        append_lines(self.path, [*([self.head] if is_new else []), line])


@contextmanager
def unfinished(output: Path, mpi: Mpi, plan: Plan, *, force: bool) -> Iterator[Unfinished]:
    """Give the series that an interrupted run of the same command has finished; remove their file at the end.

    The caller has reserved `output`. The file is kept if the block ends with an exception.

    Parameters
    ----------
    output
        Directory of the results; the file is `.NAME.unfinished` beside it.
    mpi, plan
        What is measured.
    force
        Discard series of another command.

    Raises
    ------
    MatchbenchError
        If the file holds series of another command, or is not such a file.
    """
    path = output.absolute().with_name(f".{output.name}.unfinished")
    head = {
        "format": FORMAT,
        "version": VERSION,
        "matchbench": version(),
        "compiler": mpi.compiler,
        "launcher": list(mpi.launcher),
        "variables": [list(each) for each in mpi.variables],
        "plan": json.loads(json.dumps(asdict(plan))),
    }
    found = Unfinished(path, head)
    if path.exists():
        earlier, lines = _read(path)
        different = [key for key in head if earlier.get(key) != head[key]]
        if different and not force:
            msg = (
                f"{path}: holds series of an interrupted measurement with another {', '.join(different)}; "
                f"repeat that command, choose another directory, or give --force to discard them"
            )
            raise MatchbenchError(msg)
        if different:
            path.unlink()
        else:
            for at, line in enumerate(lines, 2):
                name, run = _run(f"{path}: line {at}", line)
                check_place(path, found.runs, run)
                found.runs[name] = run
    yield found
    path.unlink(missing_ok=True)


def check_place(path: Path, runs: Mapping[str, SeriesRun], run: SeriesRun) -> None:
    """Refuse a series of another host, processor or library than those before.

    Raises
    ------
    MatchbenchError
        If it is one.
    """
    places = [_place(each.output.hello) for each in (*runs.values(), run) if each.output.hello is not None]
    if places and places[-1] != places[0]:
        msg = (
            f"{path}: found series of {' on '.join(places[0])} and of {' on '.join(places[-1])}; "
            "continue where the measurement began, or remove the file to start over"
        )
        raise MatchbenchError(msg)


def _place(hello: Hello) -> tuple[str, str, str]:
    return (hello.library.split("\n", 1)[0], hello.cpu, " and ".join(dict.fromkeys(hello.hosts)))


def _read(path: Path) -> tuple[Mapping[str, Any], list[Any]]:
    """Read the objects of a file; what follows the last end of a line is cut off from the file."""
    text = read_bytes(path, "the series of an interrupted measurement").decode(errors="replace")
    whole = text[: text.rfind("\n") + 1]
    try:
        head, *lines = [json.loads(line) for line in whole.splitlines()]
        if head["format"] != FORMAT:
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        msg = (
            f"{path}: found another kind of file, "
            "expected the series of an interrupted `matchbench mpi bench`; remove it"
        )
        raise MatchbenchError(msg) from error
    if whole != text:
        write_files({path: whole}, force=True)
    return head, lines


def _run(place: str, line: Any) -> tuple[str, SeriesRun]:
    """Read a finished series."""
    output = RunOutput()
    try:
        name, remark, lines = line["series"], line["remark"], line["lines"]
        if not isinstance(name, str) or not (remark is None or isinstance(remark, str)):
            raise TypeError
        for each in lines:
            output.read(each)
    except (TypeError, KeyError, MatchbenchError) as error:
        msg = f"{place}: found no finished series, expected one; remove the file"
        raise MatchbenchError(msg) from error
    return name, SeriesRun(output=output, remark=remark)
