# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The trace of a program on the simulated chip, written by the recorder that the program is linked with."""

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matchbench import MatchbenchError
from matchbench.display.output import make_directory, remove_empty
from matchbench.record.command import summary
from matchbench.record.run import check_unused, look, write_meta

_MARK = b"MATCHBENCH_RECORD_DIR"
"""A name that every program with the recorder contains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipTrace:
    """A trace that a run is to write.

    Parameters
    ----------
    directory
        Its directory, which must not exist or be empty.
    program
        Path of the program.
    file
        The program, an ELF file.
    ranks, cores
        Processes and cores of the run.
    frequency
        Units of the chip's clock in a second.
    unit
        What the clock counts: "instructions" of a core without time, "cycles" with time.
    """

    directory: Path
    program: Path
    file: bytes
    ranks: int
    cores: int
    frequency: int
    unit: str
    _made: list[Path] = field(default_factory=list, init=False, repr=False)

    def prepare(self, command: Sequence[str]) -> list[str]:
        """Create the directory; return the environment variables that the program needs, as NAME=VALUE.

        Parameters
        ----------
        command
            The words that `meta.json` gives as the command.

        Raises
        ------
        MatchbenchError
            When the directory is in use, the program has no recorder, or processes share a core.
        """
        check_unused(self.directory)
        if _MARK not in self.file:
            msg = (
                f"{self.program}: found no recorder in it, which --trace needs; link it with "
                "`mpicc-chip --record`"
            )
            raise MatchbenchError(msg)
        if self.ranks > self.cores:
            msg = (
                f"--trace: found {self.ranks} ranks on {self.cores} cores; expected a core for each rank, "
                "whose clock then counts the rank's own time"
            )
            raise MatchbenchError(msg)
        run_id = secrets.token_hex(8)
        self._made.extend(make_directory(self.directory))
        clock = {"unit": self.unit, "per_second": self.frequency}
        write_meta(self.directory, run_id, command, ["chip"], clock=clock)
        return [
            f"MATCHBENCH_RECORD_DIR={self.directory.absolute()}",
            f"MATCHBENCH_RECORD_RUN_ID={run_id}",
            f"MATCHBENCH_RECORD_CLOCK_HZ={self.frequency}",
        ]

    def lines(self, status: int) -> list[str]:
        """Describe the trace after the run; without files of ranks, remove what was made and say so.

        Parameters
        ----------
        status
            Exit status of the program.
        """
        files = sorted(self.directory.glob("rank-*.mbt"))
        if not files:
            (self.directory / "meta.json").unlink(missing_ok=True)
            remove_empty(self._made)
            return [f"matchbench: {self.program}: no rank was recorded: none called MPI_Init"]
        return summary(look(self.directory, files, status, Counter()))
