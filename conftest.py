# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How tests are spread over processes: those of a file share fixtures and stay together."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group tests by file for `--dist loadgroup`, except those marked `alone`, which run anywhere."""
    for item in items:
        if item.get_closest_marker("alone") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
