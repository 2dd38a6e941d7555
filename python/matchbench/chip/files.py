# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The files that a run on the chip writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from matchbench import MatchbenchError
from matchbench.display.output import check_file, write_files
from matchbench.native_types import ChipRun

_DIAGRAMS = {"timeline", "kanata"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFiles:
    """The files of the options --output, --timeline and --kanata; None for one that is not asked for."""

    counts: Path | None
    timeline: Path | None
    diagram: Path | None

    @classmethod
    def of(
        cls,
        counts: Path | None,
        timeline: Path | None,
        interval: tuple[int, int] | None,
        diagram: Path | None,
        *,
        mode: str,
    ) -> OutputFiles:
        """Take the options; those that contradict each other are refused.

        Parameters
        ----------
        counts, timeline, diagram
            The files that are named.
        interval
            The cycles of the diagram.
        mode
            That of the run.
        """
        if diagram is not None and interval is None:
            msg = "--kanata-file: needs --kanata; give both"
            raise MatchbenchError(msg)
        if interval is not None:
            diagram = diagram or Path("chip.kanata")
        for option, file in (("--timeline", timeline), ("--kanata", diagram)):
            if file is not None and mode == "functional":
                reason = "cannot be combined with --mode functional, which has no cycles; choose another"
                msg = f"{option}: {reason}"
                raise MatchbenchError(msg)
        return cls(counts=counts, timeline=timeline, diagram=diagram)

    def check(self, *, force: bool) -> None:
        """Refuse files that cannot be written, before the run.

        Parameters
        ----------
        force
            Whether files may exist.
        """
        for file in (self.counts, self.timeline, self.diagram):
            if file is not None:
                check_file(file, force=force)

    def write(self, found: ChipRun, seconds: float, *, diagram: str | None, force: bool) -> None:
        """Write the files.

        Parameters
        ----------
        found
            What the run gave.
        seconds
            How long it took.
        diagram
            The diagram, unless it is not written.
        force
            Whether files may exist.
        """
        pairs = ((self.timeline, found["timeline"]), (self.diagram, diagram))
        contents = {file: text for file, text in pairs if file is not None and text is not None}
        if self.counts is not None:
            contents[self.counts] = json.dumps(counts_of(found, seconds), indent=1) + "\n"
        write_files(contents, force=force)


def counts_of(found: ChipRun, seconds: float) -> dict[str, object]:
    """Return all that a run gave but its diagrams, and how long it took."""
    return {**{name: value for name, value in found.items() if name not in _DIAGRAMS}, "seconds": seconds}
