# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A progress bar on standard error, if that is a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from matchbench.display.document import is_quiet
from matchbench.display.tables import printable
from matchbench.native_types import Progress as Tell


@contextmanager
def progress_bar(what: str) -> Iterator[Tell]:
    """Show a bar while the block runs and yield the callable that advances it.

    Parameters
    ----------
    what
        Text before the bar.
    """
    # Imported here so that `--help` is fast.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    console = Console(file=sys.stderr)
    with Progress(
        *columns, console=console, transient=True, disable=is_quiet() or not console.is_terminal
    ) as bar:
        task = bar.add_task(printable(what), total=None)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield tell
