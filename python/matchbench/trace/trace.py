# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A trace: the recorded calls of one MPI program, as a directory or packed (`spec/trace.md`)."""

import hashlib
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from matchbench import _native, interruptible
from matchbench._native import MatchbenchError
from matchbench.arguments import CALLBACK, FLAG, PATH, checked, either, one_of, sequence
from matchbench.display.partial import Scratch
from matchbench.display.tables import printable
from matchbench.input import open_file, read_json
from matchbench.native_types import Progress, TraceState
from matchbench.trace.archive import unpack

if TYPE_CHECKING:
    import polars as pl

PACKED = ".tar.xz"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TraceStats:
    """Statistics of a trace (`spec/results.md`, section 8).

    Parameters
    ----------
    total
        The numbers of all ranks together, by name.
    ranks
        The same numbers, one row per rank.
    histograms
        By name: smallest number, largest number and count of each bin.
    collectives
        Count of each kind, over all ranks.
    """

    total: dict[str, Any]
    ranks: "pl.DataFrame"
    histograms: dict[str, list[tuple[int, int, int]]]
    collectives: dict[str, int]

    def __repr__(self) -> str:
        """Give ranks, messages sent and the longest queues."""
        return (
            f"TraceStats({self.ranks.height} ranks, {self.total['sent']} messages, "
            f"longest PRQ {self.total['posted_max']}, longest UMQ {self.total['unexpected_max']})"
        )


class Trace:
    """A trace, open for reading.

    Open one with :meth:`open`. Its files must not change while it is open.

    Parameters
    ----------
    path
        The path that the user gave.
    directory
        The directory with the trace's files.
    unpacked
        Keeps a temporary directory alive as long as the trace.
    """

    def __init__(self, path: Path, directory: Path, unpacked: Scratch | None = None) -> None:
        self.path = path
        self.directory = directory
        self._unpacked = unpacked
        self.native = _native.Trace(directory)

    @classmethod
    @checked(path=PATH)
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open the trace `path`.

        Parameters
        ----------
        path
            A trace's directory, or `NAME.tar.xz`, which is unpacked to a temporary directory.

        Raises
        ------
        MatchbenchError
            When there is no trace, or when its files are inconsistent.

        Examples
        --------
        >>> trace = Trace.open("traces/halo3d.tar.xz")  # doctest: +SKIP
        >>> trace.ranks  # doctest: +SKIP
        27
        """
        path = Path(path)
        if path.is_dir():
            if not (path / "meta.json").exists():
                msg = (
                    f"{path}: found no meta.json in it, expected a trace; "
                    f"name a trace's directory or NAME{PACKED}"
                )
                raise MatchbenchError(msg)
            return cls(path, path)
        if not path.exists():
            msg = f"{path}: found no such file, expected a trace's directory or NAME.tar.xz; check the path"
            raise MatchbenchError(msg)
        if not path.name.endswith(PACKED):
            msg = (
                f"{path}: found another kind of file, expected a trace; "
                f"name a trace's directory or NAME{PACKED}"
            )
            raise MatchbenchError(msg)
        unpacked = Scratch()
        try:
            return cls(path, unpack(path, Path(unpacked.name)), unpacked)
        except MatchbenchError as error:
            unpacked.cleanup()
            raise _renamed(error, Path(unpacked.name), path) from None
        except BaseException:
            unpacked.cleanup()
            raise

    def __enter__(self) -> Self:
        """Return the trace itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the unpacked files; the trace must not be used afterwards."""
        if self._unpacked:
            self._unpacked.cleanup()

    @property
    def name(self) -> str:
        r"""The last part of the path, without `.tar.xz`; what cannot be printed is written as `\xff`."""
        return printable(self.path.absolute().name.removesuffix(PACKED))

    @property
    def ranks(self) -> int:
        """Ranks in the world."""
        return self.native.ranks

    @property
    def records(self) -> int:
        """Records of all ranks."""
        return self.native.records

    @cached_property
    def meta(self) -> dict[str, Any]:
        """Content of `meta.json`."""
        meta: dict[str, Any] = read_json(self.directory / "meta.json", "the description of a trace")
        return meta

    @property
    def size_bytes(self) -> int:
        """Size of the trace's files, unpacked."""
        return sum(file.stat().st_size for file in self._files())

    @cached_property
    def hash(self) -> str:
        """First 16 hexadecimal digits of the SHA-256 of the trace's files, in order of their names."""
        digest = hashlib.sha256()
        for file in self._files():
            with open_file(file, "a file of a trace") as content:
                while block := content.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()[:16]

    @property
    def state(self) -> TraceState:
        """How its records end: `complete`, `stopped`, `cut` or `aborted` (`spec/trace.md`, T-5)."""
        return self.native.state

    @checked(progress=CALLBACK)
    def check(self, *, progress: Progress | None = None) -> None:
        """Check every record of the trace; only the first call does the work.

        Parameters
        ----------
        progress
            Called as `progress(ranks done, ranks)`.

        Raises
        ------
        MatchbenchError
            At the first defect; names file, rank, record and the rule of `spec/trace.md`.
        """
        try:
            interruptible.run(self.native.check, progress)
        except MatchbenchError as error:
            raise _renamed(error, self.directory.parent if self._unpacked else None, self.path) from None

    @checked(progress=CALLBACK)
    def stats(self, *, progress: Progress | None = None) -> TraceStats:
        """Count messages, list lengths, search depths, unexpected messages and wildcards.

        Parameters
        ----------
        progress
            Called as `progress(ranks done, ranks)`.

        Raises
        ------
        MatchbenchError
            When the trace is defective.
        """
        self.check()
        stats = interruptible.run(self.native.stats, progress)
        # Here, because processes that replay need no tables, and importing polars takes most of their start.
        import polars as pl

        from matchbench.compare import columns

        ranks = pl.DataFrame(stats["ranks"], schema_overrides=columns.STATS_SCHEMA)
        return TraceStats(
            total={name: values[0] for name, values in stats["total"].items()},
            ranks=ranks.select(pl.Series("rank", range(ranks.height), dtype=pl.Int64), pl.all()),
            histograms=stats["histograms"],
            collectives=stats["collectives"],
        )

    @checked(path=PATH, force=FLAG, progress=CALLBACK)
    def export(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Write all records to the Parquet file `path`, one row each (`spec/results.md`, section 7).

        Memory does not grow with the trace.

        Parameters
        ----------
        path
            The file.
        force
            Replace an existing file.
        progress
            Called as `progress(records done, records)`.
        """
        # Imported here because pyarrow slows the import of the package.
        from matchbench.trace.export import export

        export(self.native, Path(path), force=force, progress=progress)

    def _files(self) -> list[Path]:
        return sorted([self.directory / "meta.json", *self.directory.glob("*.mbt")])

    def __repr__(self) -> str:
        """Give path, ranks and records."""
        return f"Trace({str(self.path)!r}: {self.ranks} ranks, {self.records} records)"


def _renamed(error: MatchbenchError, unpacked: Path | None, path: Path) -> MatchbenchError:
    """Replace the temporary directory in a message by the path of the packed trace."""
    return type(error)(str(error).replace(f"{unpacked}/", f"{path}: ")) if unpacked else error


_TRACE = one_of("a Trace, a path", Trace, str, os.PathLike)
Traces = Trace | str | os.PathLike[str] | Sequence[Trace | str | os.PathLike[str]]
TRACES = either(_TRACE, sequence(_TRACE, "them"))
"""What functions take that replay traces."""


def opened(traces: Traces, stack: ExitStack) -> list[Trace]:
    """Open the traces that are paths, until the stack is closed.

    Parameters
    ----------
    traces
        Traces, or paths of traces; one of them, or several with different names.
    stack
        Closes what is opened here.

    Raises
    ------
    MatchbenchError
        When there is none, a path has no trace, or two have the same name.
    """
    several = [traces] if isinstance(traces, Trace | str | os.PathLike) else list(traces)
    if not several:
        msg = "traces: found none, expected at least one"
        raise MatchbenchError(msg)
    found = [one if isinstance(one, Trace) else stack.enter_context(Trace.open(one)) for one in several]
    names = [trace.name for trace in found]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        msg = f"traces: two are named `{doubled}`; expected different names; rename or copy one"
        raise MatchbenchError(msg)
    return found
