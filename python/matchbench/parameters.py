# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What can be set of engines, networks, cores, chips and processors: one grammar, one error, one table."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from matchbench import _native
from matchbench._native import MatchbenchError
from matchbench.native_types import Parameter, Value


def parse_assignments(
    texts: Iterable[str], *, option: str = "--set", form: str = "KEY=VALUE"
) -> dict[str, Value]:
    """Parse `key=value` texts.

    Raises
    ------
    MatchbenchError
        When a text has no `=`, or a key is given twice; the message names `option` and the `form`.
    """
    found: dict[str, Value] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            msg = f"{option}: found `{text}`, expected {form}"
            raise MatchbenchError(msg)
        if key in found:
            msg = f"{option}: found `{key}` twice, as `{found[key]}` and as `{value}`; give it once"
            raise MatchbenchError(msg)
        found[key] = value
    return found


def distribute(
    values: Mapping[str, Value], targets: Mapping[str, Collection[str]], *, listing: str
) -> dict[str, dict[str, Any]]:
    """Distribute values by `key` or `target.key` over the targets.

    Parameters
    ----------
    values
        Values by `key`, for every target that has the key, or by `target.key`, which has precedence.
    targets
        The keys of each target.
    listing
        The command that lists the keys; `NAME` in it stands for the target.

    Returns
    -------
    dict
        By the name of each target: its values by key.

    Raises
    ------
    MatchbenchError
        When a key concerns no target.
    """
    found: dict[str, dict[str, Any]] = {name: {} for name in targets}
    own: dict[str, dict[str, Any]] = {name: {} for name in targets}
    for key, value in values.items():
        name, dot, rest = key.partition(".")
        having = [target for target, keys in targets.items() if key in keys]
        if having:
            for target in having:
                found[target][key] = value
        elif dot and name in targets and rest in targets[name]:
            own[name][rest] = value
        else:
            raise MatchbenchError(_unknown(key, targets, listing))
    return {name: found[name] | own[name] for name in targets}


def _unknown(key: str, targets: Mapping[str, Collection[str]], listing: str) -> str:
    """Say why a key concerns no target."""
    name, dot, rest = key.partition(".")
    everything = list(dict.fromkeys(each for keys in targets.values() for each in keys))
    if dot and name not in targets and not any("." in each for each in everything):
        return f"parameter `{key}`: `{name}` is not chosen; expected one of: {', '.join(targets)}"
    of_one = name if dot and name in targets else next(iter(targets)) if len(targets) == 1 else None
    known = targets[name] if dot and name in targets else everything
    listing = listing.replace("NAME", of_one or "NAME")
    return _native.unknown_name("parameter", rest if dot and name in targets else key, list(known), listing)


def show(title: str, parameters: Iterable[Parameter]) -> None:
    """Print the table of what can be set."""
    from matchbench.display import tables

    columns = ["parameter", ">value", "unit", "range", "meaning", "source"]
    rows = [
        (
            each["name"],
            each["value"],
            "-" if each["unit"] in {"choice", "count"} else each["unit"],
            each["domain"],
            each["help"],
            f"{each['source']}: {each['detail']}" if each["source"] else each["detail"],
        )
        for each in parameters
    ]
    tables.show(title, columns, rows, spare=[{3}, {4}])
