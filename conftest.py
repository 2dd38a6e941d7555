# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How tests are spread over processes: those of a file share fixtures and stay together."""

from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group tests for `--dist loadgroup`, except those marked `alone`, which run anywhere.

    Tests of the examples and of the recorder build into one folder and stay together.
    Others are grouped by file.
    """
    here = Path(__file__).parent / "tests"
    for item in items:
        if item.get_closest_marker("alone") is None:
            group = item.path if item.path.parent == here else item.path.parent
            item.add_marker(pytest.mark.xdist_group(str(group)))
