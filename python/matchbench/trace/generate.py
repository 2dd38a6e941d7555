# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generates a trace of any size from a communication pattern."""

import os
from collections.abc import Mapping
from pathlib import Path

from matchbench import _native
from matchbench._native import MatchbenchError
from matchbench.arguments import CALLBACK, FLAG, MAPPING, PATH, TEXT, WHOLE, checked
from matchbench.display.output import whole_directory
from matchbench.input import read_json
from matchbench.native_types import Progress
from matchbench.trace.trace import Trace

MOST_RANKS = (1 << 31) - 1
"""Largest number of ranks: that of MPI's `int`."""
MOST_SEED = (1 << 64) - 1
_NAMES = ("meta.json", "bundle.mbt")  # a list of files is not part of a trace


@checked(
    pattern=TEXT, directory=PATH, ranks=WHOLE, seed=WHOLE, settings=MAPPING, force=FLAG, progress=CALLBACK
)
def generate(
    pattern: str,
    directory: str | os.PathLike[str],
    *,
    ranks: int,
    seed: int = 1,
    settings: Mapping[str, object] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Trace:
    """Write a trace and open it. The same arguments give the same trace, bit for bit.

    Parameters
    ----------
    pattern
        One of `matchbench generate --help`.
    directory
        A directory that does not exist or is empty.
    ranks
        Ranks in the world.
    seed
        Seed of the pattern's random choices.
    settings
        The pattern's parameters by name; others have their defaults.
    force
        Replace an earlier trace there.
    progress
        Called as `progress(ranks done, ranks)`.

    Raises
    ------
    MatchbenchError
        When the pattern, ranks, seed or a parameter is invalid, or the directory is in use.
    """
    for name, number, least, most in (("ranks", ranks, 1, MOST_RANKS), ("seed", seed, 0, MOST_SEED)):
        if not least <= number <= most:
            msg = f"{name}: found {number}, expected {least} to {most}"
            raise MatchbenchError(msg)
    if force and (Path(directory) / "meta.json").is_file() and not _is_generated(Path(directory)):
        msg = f"{directory}: found a trace that was not generated, expected none; choose another directory"
        raise MatchbenchError(msg)
    texts = [(name, str(value)) for name, value in (settings or {}).items()]
    with whole_directory(Path(directory), marker="meta.json", force=force, names=_NAMES) as partial:
        try:
            _native.generate(pattern, partial, ranks=ranks, seed=seed, settings=texts, progress=progress)
        except MatchbenchError as error:
            raise type(error)(str(error).replace(str(partial), str(directory))) from None
    return Trace.open(directory)


def _is_generated(directory: Path) -> bool:
    try:
        return bool(read_json(directory / "meta.json", "metadata of a trace")["origin"] == "generated")
    except (MatchbenchError, KeyError, TypeError):
        return False
