# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Results of replays on disk, by the hash of everything that they depend on.

A file holds the SHA-256 of its rest, and then, compressed, the key in full and the result. A file that is
damaged is removed and its replay done again. Any number of sweeps may use a cache at the same time: a
file is written under another name and renamed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import time
import zlib
from pathlib import Path

from matchbench import _native
from matchbench._native import Engine, MatchbenchError, Network
from matchbench.compare.replay_config import ReplayConfig
from matchbench.display.partial import write_cached
from matchbench.input import read_bytes
from matchbench.native_types import Report

KEPT_DAYS = 60
"""Days for which a result is kept that no sweep uses."""

_DIGEST = 64  # hexadecimal digits of a SHA-256


def default_directory() -> Path:
    """Give the directory of results: `matchbench/replays` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "matchbench" / "replays"


class Cache:
    """Results by key.

    Parameters
    ----------
    directory
        Where the files are; None: nothing is kept.

    Raises
    ------
    MatchbenchError
        When the directory cannot be written.
    """

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self.damaged = 0
        """Files that were found damaged."""
        if directory:
            probe = directory / f".probe-{os.getpid()}"
            try:
                write_cached(probe, "")
                probe.unlink()
            except OSError as error:
                msg = f"{directory}: cannot write the cache: {error.strerror}; choose another with --cache"
                raise MatchbenchError(msg) from error

    def get(self, key: str) -> Report | None:
        """Return the result of `key`, or None if there is none that is whole.

        Parameters
        ----------
        key
            What `key_of` returns.
        """
        if not self.directory:
            return None
        path = self._path(key)
        try:
            content = read_bytes(path, "a result")
        except MatchbenchError:
            return None
        digest, packed = content[:_DIGEST], content[_DIGEST:]
        if hashlib.sha256(packed).hexdigest().encode() == digest:
            with contextlib.suppress(ValueError, zlib.error, KeyError, TypeError, RecursionError):
                stored = json.loads(zlib.decompress(packed))
                if stored["key"] == key:
                    with contextlib.suppress(OSError):
                        os.utime(path)
                    report: Report = stored["report"]
                    return report
        self.damaged += 1
        path.unlink(missing_ok=True)
        return None

    def put(self, key: str, report: Report) -> None:
        """Keep a result.

        Raises
        ------
        OSError
            When it cannot be written; names the file.
        """
        if not self.directory:
            return
        path = self._path(key)
        packed = zlib.compress(json.dumps({"key": key, "report": report}).encode())
        write_cached(path, hashlib.sha256(packed).hexdigest().encode() + packed)

    def prune(self) -> None:
        """Remove results that no sweep has used for `KEPT_DAYS` days."""
        oldest = time.time() - KEPT_DAYS * 86_400
        for path in self.directory.glob("*/*") if self.directory else ():
            with contextlib.suppress(OSError):  # another sweep removes it
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def _path(self, key: str) -> Path:
        assert self.directory is not None  # noqa: S101 - both callers have checked it
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.directory / name[:2] / name[2:]


def key_of(trace_hash: str, engine: Engine, network: Network, config: ReplayConfig) -> str:
    """Describe everything that the result of a replay depends on, as JSON.

    Parameters
    ----------
    trace_hash
        The trace's hash.
    engine, network, config
        As the replay uses them. A parameter that names a file stands for its content.
    """
    return json.dumps(
        {
            "trace": trace_hash,
            "engine": engine.name,
            "engine_parameters": _values(engine),
            "network": network.name,
            "network_parameters": _values(network),
            "rules": config.rules(),
            "module": module_hash(),
        },
        sort_keys=True,
    )


@functools.cache
def module_hash() -> str:
    """Give the SHA-256 of the compiled module: its version, and any change of a model since."""
    with Path(_native.__file__).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _values(of: Engine | Network) -> dict[str, str]:
    return {
        each["name"]: each["value"] if each["file"] is None else _content(each["value"])
        for each in of.parameters()
    }


def _content(value: str) -> str:
    """Add the hash of the content to a value that is the name of a file, such as that of a match program."""
    with contextlib.suppress(OSError):  # too long for a name
        if Path(value).is_file():
            return f"{value} sha256:{hashlib.sha256(read_bytes(Path(value), 'a program')).hexdigest()}"
    return value
